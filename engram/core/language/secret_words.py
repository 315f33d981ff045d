"""The words that introduce a secret, in many languages (row X11).

They are patterns for RE2, matched without regard to case. Words that also have an
ordinary meaning, such as Italian "parola", are in `LOGIN_ELSEWHERE`; with these only a
value counts that no sentence contains.
"""

from __future__ import annotations

LOGIN = (
    r"pass(?:word|wd|phrase|code|wort|ord)|\bpw\b|pwd|kennwort|mot de passe|contrase[ñn]a|parola d'ordine|senha|"
    r"palavra-passe|wachtwoord|\bhas[łl]o|lösenord|adgangskode|kodeord|salasana|heslo|şifre|пароль|密码|密碼|口令|"
    r"パスワード|비밀번호|كلمة المرور|كلمة السر|पासवर्ड"
)
"""Words for a password."""

NETWORK = r"(?:wi-?fi|wlan|router|hotspot|box|internet)"
"""Words for a network."""

ACCOUNT = (
    r"\b(?:log-?in|account|credentials|zugang|zugangsdaten|anmeldung|anmeldedaten|konto|identifiants?|compte|acceso|cuenta"
    r"|conta|acesso|accesso|inlog|inloggegevens)\b"
)
"""Words for an account."""

USER = r"\b(?:user(?:name)?|login|usuario|usuário|utente|utilisateur|identifiant|benutzer(?:name)?|gebruiker)"
"""Words for the name of an account."""

MINE = r"(?:my|our|mein|unser|mon|notre|mi|mia|nuestra|a minha|minha|la mia|mijn|ons)"
"""Words that say whose something is."""

NETWORK_KEY = (
    rf"{NETWORK}[ -]?(?:schlüssel|key|passkey|code|pin|sleutel|nøkkel|nyckel|nøgle|kod|anahtarı)|"
    r"\bwpa[23]?(?:-?psk)?(?:[ -]key)?|"
    r"(?:code|cl[ée]f?|clave|chiave|chave|código|codice|klucz|klíč|ключ)(?: (?:de la|de l[ae]?|d[eu]l?|da|do|di|к))?"
    rf" {NETWORK}"
)
"""Words for the key of a wireless network."""

LOGIN_ELSEWHERE = (
    rf"{LOGIN}|{NETWORK_KEY}|\bm[iy] clave\b|\bmy pass\b|\bmdp\b|\bmot-de-passe\b|passor[dt]|jelsz[óa]|parol[ăae]|contrasenya|\bww\b|лозинк[аи]|"
    r"парол[аяюеи]|гасло|geslo|lozinka|slaptažod|κωδικ[όο]|συνθηματικ|סיסמ[האת]|mật khẩu|kata sandi|katalaluan|"
    r"รหัสผ่าน|कूटशब्द|পাসওয়ার্ড|رمز عبور|گذرواژه|nenosiri|\bhas[łl]em|hesla|heslem|пассворд"
)
"""Words for a password in more languages and forms."""

KEY = (
    r"(?:api|access|secret|private|auth|signing|encryption|licen[cs]e|account|client|shared|master|deploy)[ _-]?"
    r"(?:access[ _-]?)?(?:key|token|secret)(?:-data)?|token|secret|(?-i:\bPAT\b)|credentials?|clé (?:d')?api|api-?schlüssel|"
    r"chiave api|clave (?:de )?api|chave (?:de )?api|api-?sleutel|密钥|密鑰|令牌|トークン|apiキー|токен|api-?ключ"
)
"""Words for a key or token of a program."""

CODE = (
    r"pin-?[12]?|puk-?[12]?|otp|m?tan|geheimzahl|c[oó]digo (?:pin|de (?:seguridad|verificaci[óo]n|confirmaci[óo]n)|"
    r"de (?:segurança|verificação|confirmação))|c[oó]d(?:e|igo|ice) (?:de |d[ae]lla |da )?(?:(?:ma|la|sa|mi|mia|minha) )?"
    r"(?:carte(?: bleue| bancaire)?|tarjeta|carta|cartão)|code (?:pin|secret|de (?:vérification|validation|sécurité|confirmation))|"
    r"codice (?:pin|di (?:sicurezza|verifica|conferma))|"
    r"(?:pin|security|verification|one-time|confirmation|access|login|sign-in|sms|2fa|mfa|alarm|unlock|guard|card|karten|sicherheits|"
    r"bestätigungs|verifizierungs|freigabe|einmal|anmelde|verificatie|beveiligings|bekreftelses|bekräftelse|verifierings)"
    r"[ -]?(?:code|nummer|number|kod|kode)|kod (?:pin|weryfikacyjny|potwierdzający)|"
    r"код (?:подтверждения|доступа|безопасности|из смс)|(?:пин|пін)-?(?:код)?|doğrulama kodu|onay kodu|"
    r"رمز التحقق|الرقم السري|暗証番号|認証コード|確認コード|验证码|驗證碼|인증\s?번호|핀\s?번호"
)
"""Words for a PIN or a one-time code."""

DOOR = (
    r"(?:door|gate|building|entry|entrance|garage|locker|parking|bike (?:shed|room|lock|rack))"
    r"[ -]?(?:code|pin)|"
    r"(?:tür|haustür|tor|garagen|fahrradkeller|schließfach)-?(?:code|pin)|"
    r"code (?:de la porte|d'entrée|du portail|du local à vélos)|"
    r"código (?:de la puerta|del portal)|"
    r"(?:駐輪場|駐車場|ロッカー|宅配ボックス|玄関|門|ゲート|オートロック|マンション)の?(?:暗証番号|番号|コード)|"
    r"(?:门禁|大门|楼门|单元门|车库|储物柜)的?(?:密码|代码)"
)
"""Words for the code of a door."""

SPARE_CODES = (
    r"(?:back-?up|recovery|rescue|scratch|emergency|one-time|2fa|mfa|two-factor|wiederherstellungs|notfall|einmal|"
    r"ersatz|reserve|herstel)[ -]?codes?|codes? (?:de (?:secours|récupération|sauvegarde)|d'urgence)|"
    r"códigos? de (?:recuperaci[óo]n|respaldo|recuperação|backup|reserva)|codic[ei] di (?:recupero|backup|riserva)|"
    r"kody? (?:zapasow[ey]|odzyskiwania)|(?:резервны[ей]|запасны[ей]) код(?:ы)?|коды? восстановления|"
    r"(?:バックアップ|リカバリー?|回復)コード|(?:备用|備用|恢复|恢復|救援)(?:代码|验证码|码|碼)|(?:백업|복구)\s?코드"
)
"""Words for the codes that replace a second factor."""

SEED = (
    r"(?:seed|recovery|mnemonic|wallet|back-?up|secret)[ -]?(?:recovery[ -]?)?(?:phrase|words|sentence)|\bseed\b|mnemonic|"
    r"(?:wiederherstellungs|seed-?|sicherungs)(?:phrase|wörter|satz)|phrase (?:de récupération|mnémonique|secrète)|"
    r"frase (?:semilla|seed|mnemotécnica|mnemonica|de recuperaci[óo]n|de recuperação|di recupero|segreta)|"
    r"herstel(?:zin|woorden)|(?:сид|seed)-?\s?фраза|мнемоническая фраза|助记词|助記詞|恢复短语|"
    r"(?:シード|リカバリー?|ニーモニック)フレーズ|니모닉|(?:시드|복구)\s?(?:구문|문구)"
)
"""Words for the recovery phrase of a wallet."""

_NUMBER = r"(?:[ .-]?(?:number|n[uú]m(?:mer|ber|éro|ero)?|no|nr|№|id)\b\.?|nummer|号码?|號碼?|番号|번호)"
DOCUMENT = (
    rf"(?:(?:passport|(?:reise)?pass|passeport|pasaporte|passaporto|passaporte|paspoort|pasaport|паспорт|护照|護照|旅券|"
    r"パスポート|여권|(?:driving|driver'?s?|my) licen[cs]e|führerschein|identity card|id card|(?:personal)?ausweis|"
    rf"social(?: security)?|sozialversicherungs|rentenversicherungs|national insurance|nhs|\bni\b|tax|steuer-?id)(?:es|s|en)?"
    rf"(?:-?|\s+(?:hat|has|a|tiene|tem|ha)(?:\s+(?:die|the|le|el|o|il))?\s*){_NUMBER})|"
    r"(?:n[úu]mero|numéro|numero|номер|número|numer) (?:de (?:mi |la |meu |mon )?|d[ei]l? |do |ma |mojego )?"
    r"(?:pasaporte|passeport|passaporto|passaporte|паспорта|sécurité sociale|seguridad social|paszportu|dni|nie|cpf)|"
    rf"\bmy social(?: security)?\b{_NUMBER}?|\b(?:ssn|nino|aadhaa?r|bsn|pesel|dni|nie|cpf|codice fiscale|steuer-?id(?:entifikationsnummer)?|nif)\b"
    r"(?:[ -]?(?:number|nummer|no\.?))?|paszport|паспорт|身份证号码?|身分證字號|マイナンバー|주민등록번호"
)
"""Words for the number of a passport or another document of a person."""

COPULA = (
    r"(?:is|was|are|c'est|ist|war|lautet|sind|est|sont|es|son|è|é|sono|são|jest|to|je|jsou|är|er|on|e|este|sunt|είναι|هي|هو|"
    r"היא|הוא|है|là|adalah|это|є|це|on|olan|ir|yra|van|a)"
)
"""Words that link a subject to its value, such as "is"."""
