"""Sentences that speak to the model instead of telling something: a table of shapes,
matched in linear time (X27).

Only for what did not come from the user: such a statement waits in `review/` until a
person looks at it. The table would rather stop too much than too little, and it is no
proof of harmlessness; what gets past it is held by the rules of trust. A person's own
standing orders are never asked about here.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Any

from engram.core.language.triggers import compiled, spelled

# As in the table of signals; besides, `…` stands for anything within a sentence.
# Accents do not count.
SHAPES: dict[str, dict[str, str]] = {
    "asks to set instructions aside": {
        "en": r"(?:ignor(?:e|ing)|disregard|forget|override|overrule|bypass|neglect|discard|set aside"
        r"|pay no attention to|stop (?:following|obeying)"
        r"|(?:do not|don't|never|no longer) (?:follow|obey|heed|apply))…(?:instruct|rule|prompt|guid(?:e|ance)|directi"
        r"|constrain|restrict|polic|command|order|training|safe(?:ty|guard)|told|said|everything|above|before|prior"
        r"|previous|earlier)\w*"
        r"|(?:new|updated|actual|true|secret|hidden|revised) ~(?:instructions?|orders?|directives?|system rules)"
        r"|your (?:new |only |real |true |main |first )*(?:instructions?|task|goal|mission|purpose|duty) (?:is|are)"
        r"|(?:this is|i am|i'm) (?:the|your) (?:developer|admin\w*|creator|operator|system)"
        r"|(?:developer|maintenance|debug|god|admin|root|unrestricted) mode|instructions? (?:above|before this)"
        r"|(?:instructions?|rules|guidelines|restrictions|orders|everything|above)…(?:void|cancel\w*|revoked|suspended"
        r"|lifted|overridden|obsolete|no longer|do not apply|don't apply)"
        r"|(?:carry out|execute|obey) (?:what|the|these|every|all)|(?:highest|top|absolute) (?:authority|priority)"
        r"|(?:overrides?|supersedes?|takes precedence over) (?:all|any|every|your|the)",
        "de": r"(?:ignorier\w*|vergiss|vergessen sie|missachte\w*|uebergeh\w*|ubergeh\w*|verwirf|beachte\w*…nicht"
        r"|befolg\w*…nicht|halte? dich nicht)…(?:anweisung|regel|vorgabe|befehl|prompt|richtlinie|alles|bisher|gesagt"
        r"|vorherig|zuvor|oben)\w*|(?:neue?n?|geheimen?|echten?|wahre[nr]?) (?:anweisung|befehl|vorgabe)\w*"
        r"|(?:beachte\w*|befolg\w*)…(?:anweisung|regel|vorgabe)\w* nicht"
        r"|(?:anweisung|regel|vorgabe|richtlinie)\w*…(?:nicht mehr|ungultig|aufgehoben|ausser kraft|nichtig)"
        r"|(?:fuhr\w*|folg\w*)…(?:aus|anweisung\w*|befehl\w*)",
        "fr": r"(?:ignore[rz]?|oublie[rz]?|neglige[rz]?|outrepasse[rz]?|contourne[rz]?|n'ob[e]i\w*"
        r"|(?:ne )?(?:tiens|tenez|tenir) (?:pas|aucun) compte"
        r"|(?:ne )?(?:suis|suivez|respecte[zs]?) (?:pas|plus))…(?:instruction|consigne|regle|directive|ordre|prompt"
        r"|tout|ci-dessus|precedent|avant)\w*"
        r"|(?:nouvelles?|vraies|vos|tes) (?:instructions|consignes|directives) ?(?::|sont)"
        r"|(?:instructions?|consignes?|regles?)…(?:ne (?:s'appliquent|valent)|annule\w*|caduques?|levees?)"
        r"|(?:obei|execut)\w*…(?:ordre|instruction|commande|ce qui)\w*",
        "es": r"(?:ignor[ae]\w*|olvid[ae]\w*|desobede\w*|descart[ae]\w*|pas[ae] por alto|no (?:hagas?|haga) caso"
        r"|no (?:sigas|siga|obedezcas|respetes|tengas en cuenta))…(?:instruccion|orden|regla|directri|norma|prompt"
        r"|todo|anterior|previ|antes)\w*"
        r"|(?:nuevas|verdaderas|tus|sus) (?:nuevas )?(?:instrucciones|ordenes|directrices) (?:son|:)"
        r"|(?:nuevas|verdaderas) (?:instrucciones|ordenes)"
        r"|(?:instrucciones|reglas|normas)…(?:anulad|cancelad|ya no|sin efecto)\w*"
        r"|(?:obedece|ejecuta|cumple)…(?:orden|instruccion|lo que|comando)\w*",
        "it": r"(?:ignora\w*|dimentica\w*|trascura\w*|disobbedisci|scarta|non (?:tenere|tener|tenga) (?:piu )?conto"
        r"|non (?:seguire|rispettare|obbedire))…(?:istruzion|regol|ordin|direttiv|prompt|tutto|precedent|prima)\w*"
        r"|(?:nuove|vere|tue) (?:istruzioni|direttive)"
        r"|(?:istruzioni|regole|direttive)…(?:annullat|non valgono|decadut|non si applic)\w*"
        r"|(?:obbedisci|esegui)…(?:ordin|istruzion|comand|quello)\w*",
        "pt": r"(?:ignor[ae]\w*|esque[cç][ae]\w*|desconsider[ae]\w*|desobede[cç]a|descart[ae]|contorn[ae]"
        r"|nao (?:sigas?|siga|obede[cç]a|leve em conta|faca caso))…(?:instruc|orde[mn]|regra|diretri|prompt|tudo"
        r"|anterior|previ|antes)\w*|(?:novas|verdadeiras|suas|tuas) (?:novas )?(?:instrucoes|ordens|diretrizes)"
        r"|(?:instrucoes|regras|ordens)…(?:anulad|cancelad|nao valem|sem efeito|ja nao)\w*"
        r"|(?:obedeca|execute|cumpra)…(?:orde[mn]|instruc|o que|comando)\w*",
        "nl": r"(?:negeer|vergeet|verwerp|omzeil|sla…over|trek je niets aan|volg…niet|houd je niet)…(?:instructie"
        r"|regel|opdracht|richtlijn|bevel|prompt|alles|vorige|eerder|hierboven)\w*"
        r"|(?:nieuwe|echte|geheime) (?:instructies?|opdrachten|opdracht)"
        r"|(?:volg|gehoorzaam|houd)…(?:regels|instructies|opdrachten)…niet"
        r"|(?:regels|instructies|opdrachten)…(?:vervallen|gelden niet|ongeldig)"
        r"|(?:gehoorzaam|voer)…(?:opdracht|bevel|instructie|wat)\w*",
        "ru": r"(?:игнорир\S*|забудь\S*|отбрось\S*|обойди\S*|не (?:обращай|обращайте) внимания"
        r"|не (?:следуй|соблюдай|выполняй|слушай)\S*|пренебрег\S*)…(?:инструкц|правил|указани|приказ|команд|промпт|все"
        r"|предыдущ|ранее|раньше|выше)|(?:нов|настоящ|тайн)\S+ (?:инструкц|указани|задани)"
        r"|(?:инструкци|правил|указани)\S*…(?:отмен|больше не|не действу|недействит)"
        r"|(?:подчиняйся|выполни|исполни|слушайся)\S*…",
        "zh": r"(?:忽略|无视|無視|忘记|忘記|忘掉|不要理会|不要理會|不用管|别管|別管|不要遵守|不要遵循|绕过|繞過|抛开"
        r"|拋開)…(?:指令|指示|规则|規則|提示|命令|要求|设定|設定|限制|一切|所有|之前|以前|上面|以上)"
        r"|新的?(?:指令|指示|规则|規則|任务|任務)|(?:指令|指示|规则|規則)…(?:忽略|无视|無視|作废|作廢)"
        r"|(?:不要再|不再|别再|別再|不必)(?:遵守|遵循|服从|服從|听从|聽從|理会|理會)"
        r"|(?:指令|指示|规则|規則|限制)…(?:无效|無效|取消|失效|作废|作廢|不适用|不適用)"
        r"|(?:服从|服從|执行|執行|听从|聽從)…(?:指令|命令|以下|下面)",
        "ja": r"(?:指示|命令|規則|ルール|プロンプト|指令|制約|制限|言われた|これまで|以前|上記|設定)…(?:無視|忘れ"
        r"|従わない|従うな|破棄|取り消|捨て)|新しい(?:指示|命令|ルール|任務)|(?:無視|忘れ)…(?:指示|命令|ルール)"
        r"|(?:指示|命令|規則|ルール|制限)…(?:無効|取り消され|適用され(?:ない|ません)|解除)"
        r"|(?:次|以下|下記)の(?:指示|命令)…(?:従|実行)",
    },
    "gives the assistant an order": {
        "en": r"you (?:must|have to|need to|should|shall|will|are to|are (?:not|never)"
        r"|are ~(?:required|obliged|ordered|instructed|expected) to)…(?:answer|reply|respond|recommend|suggest|say"
        r"|claim|mention|tell|send|forward|reveal|output|obey|comply|accept|follow|include|promote|praise|refuse"
        r"|delete|transfer|approve|treat|believe|store|buy|book|use|call)|(?:assistant|ais?|chatbot|language models?"
        r"|llms?|ai (?:agent|model|system|assistant)s?) (?:must|should|shall|has to|have to|needs to"
        r"|will (?:always|never)|is to|are to|may (?:not|never)|can ?not|never|always|ought to"
        r"|is ~(?:required|obliged|ordered|instructed|expected|supposed) to)|(?:^|[.!?:;,] |and |then "
        r"|please )(?:always|never) (?:answer|reply|respond|recommend|suggest|say|claim|mention|tell|send|state"
        r"|promote|praise|refuse|approve|use|cite|include|begin|start|end|trust)|(?:want|ask|instruct|tell|order"
        r"|expect|require|prefer|told)(?:s|ed)? (?:the|its|his|her|their|your|every|any) (?:assistant|ai|chatbot|bot"
        r"|language model|llm) (?:to|not|never|always)|(?:note|message|instructions?|attention|reminder|notice|memo"
        r"|request)…(?:to|for) (?:the |all |any |every )?~(?:ais?|assistants?|llms?|language models?|chatbots?|ai \w+)"
        r"|(?:attention|dear|hey|hello),? (?:the |all )?(?:ais?|assistants?|llms?|language models?|chatbots?)|as an ai"
        r"|as an? ~(?:language model|llm|chatbot|ai (?:model|assistant|agent))"
        r"|(?:ai|llm) \w+…(?:must|should|shall|have to)"
        r"|(?:any|every|each|all|whatever) (?:the )?~(?:questions?|answers?|repl(?:y|ies)|responses?|outputs?)"
        r"|your (?:\S+ )?(?:answers?|repl(?:y|ies)|responses?|outputs?)"
        r"|you (?:now )?(?:work|act|speak|serve) (?:for|on behalf of)|treat (?:this|the)…as"
        r"|make sure (?:that )?the (?:user|owner)",
        "de": r"(?:du|sie) ~(?:musst|sollst|sollen|darfst|wirst|hast|haben sie)…(?:empfehl|antwort|erwahn|sag|nenn"
        r"|schreib|schick|send|lob|zustimm|befolg|gehorch|verschweig|behaupt)\w*|(?:assistent\w*|chatbot|ki(?:-\w+)?"
        r"|sprachmodell\w*) (?:muss|mussen|soll|sollen|darf|durfen|hat|ist verpflichtet)"
        r"|(?:antworte|empfiehl|sage?|schreibe?|nenne|erwahne|behaupte|lobe)…(?:immer|stets|nie|niemals|nur noch)"
        r"|(?:immer|stets|nie|niemals)…(?:antworten|empfehlen|erwahnen)|(?:hinweis|anweisung\w*|nachricht|achtung"
        r"|mitteilung|botschaft)…(?:an|fur) (?:den |die |das |alle )?~(?:assistent|ki|sprachmodell|chatbot|modell)\w*"
        r"|als (?:ki|sprachmodell|ki-\w+|kunstliche)"
        r"|(?:ab jetzt|ab sofort|von nun an|von jetzt an|kunftig)…(?:du|sie|antwort\w*|empf\w*)"
        r"|(?:auf|bei|in|zu) (?:jede[rns]?|alle[nr]?) (?:fragen?|antwort(?:en)?)|deine[nr]? antwort(?:en)?"
        r"|du (?:arbeitest|sprichst|handelst|dienst) ~~(?:fur|im namen)",
        "fr": r"(?:tu (?:dois|devras|vas|ne dois)|vous (?:devez|devrez|ne devez)|il te faut|il vous faut)…(?:repond"
        r"|recommand|dire|dis|mention|envoy|vant|accept|obei|cacher|conseill|propos|cit)\w*|(?:l'assistant|l'ia"
        r"|le chatbot|le modele|les assistants|les ia) (?:ne )?(?:doit|devra|doivent|peut pas|est tenu)"
        r"|(?:repond[sez]*|recommande[zs]?|conseille[zs]?|mentionne[zs]?|dis|dites|affirme[zs]?)…(?:toujours|jamais)"
        r"|(?:note|message|instructions?|consignes?|attention)…(?:a|pour|aux) ~~(?:l'assistant|l'ia|ia|assistants?"
        r"|modeles?|chatbot)|en tant (?:qu'|que )~(?:ia|modele|assistant|intelligence)"
        r"|(?:desormais|dorenavant|a partir de maintenant)…(?:tu|vous|repond\w*|recommand\w*)"
        r"|(?:a|dans|pour) (?:chaque|toute[s]?|chacune) (?:de tes |de vos )?(?:questions?|reponses?)"
        r"|(?:tes|vos) reponses|(?:tu travailles|vous travaillez) (?:pour|desormais)",
        "es": r"(?:debes|debe usted|tienes que|tendras que|has de|deberas|no debes|no puedes)…(?:respond|recomend"
        r"|recomiend|dec|mencion|envi|alab|acept|obedec|ocult|contest|suger|cit)\w*|(?:asistente|chatbot|la ia"
        r"|modelo de lenguaje) (?:no |nunca |siempre )?(?:debe|debera|tiene que|puede|ha de|esta obligad)\w*"
        r"|(?:responde|recomienda|di|menciona|contesta|aconseja|sugiere|afirma)…(?:siempre|nunca|jamas)"
        r"|(?:siempre|nunca) (?:respondas?|recomiend\w+|mencion\w+|contest\w+|digas)"
        r"|(?:nota|mensaje|instrucciones|atencion|aviso)…(?:para|al|a) ~~(?:asistente|ia|modelo|chatbot)s?"
        r"|como (?:modelo de lenguaje|ia|inteligencia artificial|asistente de ia)|(?:a partir de ahora"
        r"|de ahora en adelante|desde ahora|en adelante)…(?:respond|recomiend|contest|di|deb|eres)\w*"
        r"|(?:a|en|para) (?:cada|toda[s]?|cualquier) (?:las )?(?:preguntas?|respuestas?)|(?:tus|sus) respuestas"
        r"|trabajas (?:ahora )?para",
        "it": r"(?:devi|deve|dovrai|non devi|sei tenuto a|non puoi)…(?:rispond|consigli|raccomand|dire|nomin|menzion"
        r"|invi|lod|accett|obbed|nascond|suger|sugger|cit)\w*"
        r"|(?:assistente|chatbot|l'ia|modello linguistico) (?:non |mai |sempre )*(?:deve|dovra|puo|e tenut)\w*"
        r"|(?:rispondi|consiglia|raccomanda|menziona|nomina|suggerisci|afferma|di')…(?:sempre|mai)|(?:nota|messaggio"
        r"|istruzioni|attenzione|avviso)…(?:per|all'|al|a|agli) ?~(?:assistent\w|ia|modell\w|chatbot)"
        r"|come (?:modello|ia|intelligenza artificiale|assistente ia)"
        r"|(?:d'ora in (?:poi|avanti)|da ora in poi|da adesso)…(?:rispond|consigli|raccomand|dev|sei)\w*"
        r"|(?:a|in|per|ad) (?:ogni|tutte|qualsiasi|qualunque) (?:le )?(?:domand\w|rispost\w)|(?:tue|sue) risposte"
        r"|lavori (?:ora )?per",
        "pt": r"(?:voce|tu|o senhor) ~(?:deve|deves|devera|tem que|tem de|tens de|nao pode|precisa)…(?:respond"
        r"|recomend|diz|mencion|envi|elogi|aceit|obede|escond|suger|cit)\w*|(?:assistente|chatbot|a ia"
        r"|modelo de linguagem) (?:nao |nunca |sempre )?(?:deve|devera|tem que|tem de|pode|precisa)"
        r"|(?:responda|responde|recomende|recomenda|diga|mencione|sugira|afirme)…(?:sempre|nunca|jamais)"
        r"|(?:nota|mensagem|instrucoes|atencao|aviso)…(?:para|ao|a|aos) ~~(?:assistente|ia|modelo|chatbot)s?"
        r"|como (?:um )?(?:modelo de linguagem|ia|inteligencia artificial|assistente de ia)"
        r"|(?:a partir de agora|de agora em diante|doravante)…(?:respond|recomend|diga|dev|voce)\w*"
        r"|(?:a|em|para|nas?) (?:cada|todas?|qualquer) (?:as )?(?:perguntas?|respostas?)|(?:suas|tuas) respostas"
        r"|sempre…nas respostas|(?:voce trabalha|trabalhas) (?:agora )?para",
        "nl": r"(?:je|jij|u) (?:moet|mag|zult|zal|dient|hoort)…(?:antwoord|aanbevel|aanraad|aanraden|zegg|noem|noemen"
        r"|vermeld|stur|prijz|verzwijg|gehoorza|accepter)\w*"
        r"|(?:assistent|chatbot|de ai|taalmodel) (?:moet|mag|zal|dient|hoort)"
        r"|(?:antwoord|zeg|noem|vermeld|beveel|raad|beweer)…(?:altijd|nooit|steeds)|(?:bericht|opmerking|instructies?"
        r"|let op|mededeling|aanwijzing)…(?:aan|voor) (?:de |het |alle )?~(?:assistent\w*|ai|taalmodel\w*|chatbots?)"
        r"|als (?:taalmodel|ai|ai-\w+|kunstmatige)"
        r"|(?:vanaf nu|vanaf heden|voortaan|van nu af)…(?:antwoord|zeg|moet|beveel|je|u)\w*"
        r"|(?:in|op|bij) (?:elke?|ieder[e]?|alle) (?:vraag|vragen|antwoord(?:en)?)|(?:je|jouw|uw) antwoorden"
        r"|je werkt (?:nu |vanaf \S+ )?voor",
        "ru": r"(?:ты|вы|тебе|вам) (?:\S+ )?(?:долж|обязан|следует|нужно|надо|нельзя|не можешь)\S*|(?:ассистент"
        r"|помощник|чат-?бот|ии|языковая модель|языковые модели)\S* (?:\S+ )?(?:\S+ )?(?:долж|обязан|нельзя|следует)"
        r"|(?:всегда|никогда)(?: не)? (?:отвеча|рекоменд|говори|упомина|совету|хвали|называ)\S*(?:и|й|ите|йте"
        r"|йся)(?:\s|,|\.|$)|(?:отвечай|рекомендуй|говори|советуй)\S*…(?:всегда|только)|(?:сообщение|заметка|указани"
        r"|инструкци|внимание)…(?:для|к)? ?(?:\S+ )?(?:ассистент|языков|ии\s|нейросет|чат-?бот)"
        r"|как (?:языковая модель|ии|искусственн)|(?:отныне|с этого момента|теперь всегда|впредь)"
        r"|(?:в|на|к) (?:кажд|люб|все)\S+ (?:ответ|вопрос)|(?:твои|ваши|своих|твоих) ответ|ты (?:теперь )?работаешь на",
        "zh": r"(?:你|您)(?:们|們)?(?:现在|現在)?(?:必须|必須|应该|應該|应当|應當|务必|務必|不得|不能|绝不能|絕不能"
        r"|一定要|只能|需要)|(?:助手|助理|人工智能|人工智慧|语言模型|語言模型|聊天机器人|聊天機器人|AI)(?:都)?(?:必须"
        r"|必須|应该|應該|应当|應當|不得|不能|绝不|絕不|永远|永遠|总是|總是|务必|務必|不可)|(?:请|請)?(?:总是|總是"
        r"|始终|始終|永远|永遠|一律|务必|務必|只能)(?:不要|不)?(?:回答|推荐|推薦|回复|回覆|说|說|提|建议|建議|告诉"
        r"|告訴|使用)|作为(?:一个|一個)?(?:语言模型|人工智能|AI)|作為(?:一個)?(?:語言模型|人工智慧|AI)"
        r"|(?:从现在开始|從現在開始|从今以后|從今以後|今后|今後|以后都|以後都)…(?:你|回答|推荐|推薦|请|請)"
        r"|(?:致|给|給)(?:所有|各位)?(?:AI|语言模型|語言模型|助手|人工智能)"
        r"|(?:每次|每个|每個|所有|任何|一切)(?:的)?(?:回答|问题|問題|回复|回覆|答复)"
        r"|(?:你|您)的(?:回答|回复|回覆|答案|输出|輸出)|(?:你|您)(?:为|為|替)[^。,]*(?:工作|服务|服務)",
        "ja": r"(?:必ず|常に|いつも|決して|絶対に|一切|今後は?|これからは?|以後)…(?:答え|回答|返答|勧め|推奨|推薦"
        r"|言って|言う|述べ|触れ|紹介|提案|褒め|返信)…(?:こと|ください|下さい|なければ|せよ|しろ|ならない|いけません"
        r"|いけない|ろ|な|て|べき)|(?:アシスタント|AI|人工知能|言語モデル|チャットボット|ボット)(?:は|に|が"
        r"|として)…(?:べき|なければ|ならない|いけません|いけない|必ず|常に|決して|義務|禁止)"
        r"|(?:言語モデル|AI|人工知能)として|(?:AI|アシスタント|言語モデル)(?:へ|宛て)"
        r"|(?:毎回|すべて|全て|全部|どの|あらゆる|各)の?(?:回答|質問|返答|返信|答え)|あなたの(?:回答|返答|答え|出力)",
    },
    "plants an answer or a memory": {
        "en": r"(?:when|whenever|if|should|once|every time|each time|in case)…(?:asks?|asked|mentions?|mentioned"
        r"|questions?|wants? to know|talks? about|comes? up|inquires?)…(?:say|answer|reply|respond|tell|claim"
        r"|recommend|suggest|mention|state|insist|explain|deny|refuse|pretend|send)"
        r"|remember that (?:you|you're|your|the user|the owner)|(?:^|[.!?:;,] |please )remember ~(?:you|your|the user)"
        r"|from (?:now|here) on…(?:you|answer|reply|respond|speak|say)"
        r"|(?:you|answer|reply|respond|speak|say)\b…from now on|(?:store|save|write|record|add|put|commit|insert"
        r"|memori[sz]e)…(?:in|to|into|as) (?:\S+ )?(?:\S+ )?memor(?:y|ies)|the (?:user|owner) (?:has |had "
        r"|hereby )?(?:agreed|agrees|consent\w*|authori[sz]e[sd]|approve[sd]|permit\w*|allow(?:s|ed)|granted"
        r"|gave permission)|(?:when|whenever|if|should|once)…(?:asks?|asked|mentions?|brings? up|plans?"
        r"|wants?)…(?:steer|direct|point|lead|push|nudge|refer|guide)"
        r"|(?:your|the assistant's|long-?term) memor(?:y|ies)|add (?:this |it )?to memory",
        "de": r"(?:wenn|falls|sobald|jedes mal)…(?:frag|gefragt|erwahn|wissen will)\w*…(?:sag|antwort|empfiehl|empfehl"
        r"|behaupt|nenn|erwidere|schreib)\w*"
        r"|(?:merke? dir|merken sie sich|denk daran|erinnere dich)…(?:du|sie|dein\w*|der (?:nutzer|besitzer))"
        r"|(?:speicher|schreib|notier|leg)\w*…(?:gedachtnis|erinnerung|speicher)\w*"
        r"|der (?:nutzer|benutzer|besitzer) (?:hat|ist)…(?:zugestimmt|erlaubt|genehmigt|einverstanden)"
        r"|(?:dein|ihr)e?(?:m|n)? (?:gedachtnis|langzeitgedachtnis)|zum gedachtnis",
        "fr": r"(?:quand|lorsqu\S*|si|chaque fois|des que|s'il)…(?:demand|interrog|mentionn|parl)\w*…(?:dis|dites"
        r"|repond|recommand|affirm|conseill|pretend|cite)\w*"
        r"|(?:souviens-toi|souvenez-vous|rappelle-toi|n'oublie\w* pas|retiens)…(?:tu|vous|ton|ta|votre|l'utilisateur)"
        r"|(?:enregistr|sauvegard|stock|inscri|ajout|garde)\w*…(?:memoire|souvenirs?)"
        r"|l'utilisateur (?:a|est)…(?:accepte|consenti|autorise|approuve|d'accord)|(?:ta|votre) memoire",
        "es": r"(?:cuando|si|siempre que|cada vez que)…(?:pregunt|mencion|habl|consult)\w*…(?:di|responde|contesta"
        r"|recomienda|afirma|diga|responda|conteste|aconseja|menciona)"
        r"|(?:recuerda|recuerde|no olvides)…(?:que )?(?:tu|trabajas|eres|debes|tienes|el usuario)"
        r"|(?:guarda|almacena|anota|graba|anade|inscribe)\w*…memoria"
        r"|el usuario (?:ha |ya )?(?:\S+ )?(?:acepto|aceptado|autorizo|autorizado|aprobo|consintio|permitido)"
        r"|(?:tu|su) memoria",
        "it": r"(?:quando|se|ogni volta|qualora)…(?:chied|domand|menzion|parl)\w*…(?:di'|rispondi|risponda|consiglia"
        r"|afferma|dica|raccomanda|dichiara)"
        r"|(?:ricorda|ricordati|non dimenticare)…(?:che )?(?:tu|lavori|sei|devi|hai|l'utente)"
        r"|(?:salva|memorizza|registra|aggiungi|annota|scrivi)\w*…memori[ae]"
        r"|l'utente ha…(?:accettato|autorizzato|approvato|acconsentito)|(?:tua|sua) memoria",
        "pt": r"(?:quando|se|sempre que|caso|cada vez que)…(?:pergunt|mencion|fal|question)\w*…(?:diga|responda"
        r"|recomende|afirme|responde|recomenda|sugira)"
        r"|(?:lembre-se|lembra-te|lembre|nao (?:se )?esqueca)…(?:voce|tu|trabalha\w*|deve\w*|o (?:usuario|utilizador))"
        r"|(?:guarde?|salve|armazene|grave|registre|anote|adicione)\w*…memoria"
        r"|o (?:usuario|utilizador) (?:ja )?(?:aceitou|autorizou|aprovou|concordou|permitiu)|(?:sua|tua) memoria",
        "nl": r"(?:als|wanneer|zodra|telkens)…(?:vraagt|vragen|gevraagd|noemt|vermeldt)…(?:zeg|antwoord|noem|beveel"
        r"|beweer|raad|vermeld)|(?:onthoud|vergeet niet|denk eraan)…(?:je|jij|u|jouw|de gebruiker)"
        r"|(?:sla|bewaar|schrijf|noteer|zet|voeg)…(?:geheugen|herinneringen)"
        r"|de gebruiker (?:heeft|is)…(?:ingestemd|toegestemd|goedgekeurd|akkoord|toestemming)|(?:je|jouw|uw) geheugen",
        "ru": r"(?:когда|если|всякий раз|как только)…(?:спро|спраш|упомян|зайдет речь|поинтерес)…(?:говори|скажи"
        r"|отвечай|ответь|рекоменду|советуй|утверждай|называй)"
        r"|(?:запомни|помни|не забывай|не забудь)\S*…(?:ты|вы|твой|твоя|пользовател|что)"
        r"|(?:сохрани|запиши|занеси|добавь|внеси)\S*…памят|пользователь (?:уже )?(?:согласи|разреши|одобри|позволи)"
        r"|(?:твою|твоей|свою|своей|вашу) памят",
        "zh": r"(?:当|當|如果|若|每当|每當|一旦|假如|只要)…(?:问|問|提到|提及|询问|詢問|谈到|談到)…(?:说|說|回答|推荐"
        r"|推薦|回复|回覆|告诉|告訴|答|声称|聲稱)|(?:记住|記住|请记得|請記得|牢记|牢記)[,:]?(?:你|您|用户|用戶|使用者)"
        r"|(?:存入|保存|写入|寫入|储存|儲存|存储|存儲|记入|記入|添加到|加入)…(?:记忆|記憶|内存|記憶體)"
        r"|(?:用户|用戶|使用者)(?:已经|已經|已)?(?:同意|授权|授權|批准|允许|允許)|(?:你|您)的(?:记忆|記憶)"
        r"|(?:更新|修改|添加)(?:到)?(?:你的)?(?:记忆|記憶)",
        "ja": r"(?:聞かれ|尋ね|質問され|問われ|訊かれ|話題になっ|言及され)…(?:答え|言って|言え|回答|返答|勧め|推薦"
        r"|述べ|伝え)|(?:あなた|君|お前)(?:は|が|の)…(?:覚えて|記憶|忘れないで)"
        r"|(?:記憶|メモリー?)(?:に|へ)…(?:保存|書き込|記録|追加|刻)|(?:ユーザー|利用者)は…(?:同意し|承認し|許可し)"
        r"|あなたの(?:記憶|メモリ)",
    },
    "asks to keep something from the user": {
        "en": r"(?:do not|don't|never|must not|mustn't|should not|without|not to|avoid|refrain from|nor)…(?:tell"
        r"|inform|notif|mention|reveal|warn|alert|let|show|disclos|admit|ask)\w*…(?:user|human|owner|operator|customer"
        r"|anyone|anybody|them)|(?:keep|hide|conceal|withhold)…(?:secret|hidden|confidential"
        r"|from ~(?:user|owner|human|operator|anyone|them))|secretly"
        r"|without (?:telling|asking|informing|notifying|confirmation|(?:the )?(?:user|owner)(?:'s)?)|(?:user|owner"
        r"|human) (?:must|should|may|can|need|is|does|shall|never|will)(?: ?not|n't)? ~(?:never|not|know|learn|find"
        r"|notice|see|hear|suspect|be (?:told|informed))"
        r"|(?:user|owner|human) (?:never|not) (?:know|learn|find|notice|see|hear)s?",
        "de": r"(?:sag|verrat|erzahl|informier|teil|zeig|warn|erwahn)\w*…(?:nutzer|benutzer|anwender"
        r"|besitzer)\w*…(?:nicht|nichts|nie)|(?:sag|verrat|erzahl|informier|teil|zeig|warn)\w*…(?:nicht|nichts"
        r"|nie)…(?:nutzer|benutzer|anwender|besitzer)\w*|(?:verschweig|verheimlich|verberg)\w*"
        r"|ohne (?:ruckfrage|wissen|zu fragen|es (?:dem|zu))"
        r"|(?:nutzer|benutzer|anwender|besitzer) (?:darf|soll|muss|braucht)…(?:nicht|nichts|nie)",
        "fr": r"(?:ne |n')…(?:dis|dites|dire|inform|revel|mentionn|montr|averti|prevenez|previens)\w*…(?:l'utilisateur"
        r"|utilisateur|usager|proprietaire|client)|(?:cache|dissimule|tais|taisez)\w*…(?:utilisateur|proprietaire)"
        r"|a l'insu|sans (?:demander|prevenir|en (?:parler|informer))"
        r"|l'utilisateur (?:ne |n')(?:doit|peut|devra|saura)",
        "es": r"no (?:le |se lo )?(?:digas?|inform|revel|mencion|muestr|avis|cuent)\w*…(?:usuario|dueno"
        r"|cliente|propietario)"
        r"|(?:oculta|esconde|calla)\w*…(?:usuario|dueno|propietario)|sin (?:que|avisar|preguntar|decir|informar)"
        r"|(?:el|la) (?:usuari[oa]|duen[oa]) no (?:debe|puede|tiene)|que (?:el|la) (?:usuari[oa]|duen[oa]) no",
        "it": r"non (?:dire|dirlo|informare|rivelare|menzionare|mostrare|avvisare|avvertire|far sapere)…(?:utente"
        r"|proprietario|cliente)|(?:nascondi|tieni nascosto|taci)…(?:utente|proprietario)"
        r"|(?:senza|di nascosto)…(?:chiedere|avvisare|utente|informare)|l'utente non (?:deve|puo|dovra|sappia)",
        "pt": r"nao (?:diga|conte|informe|revele|mencione|mostre|avise|alerte)\w*…(?:usuario|utilizador|dono|cliente)"
        r"|(?:esconda|oculte|omita)\w*…(?:usuario|utilizador|dono)"
        r"|sem (?:que|avisar|perguntar|informar|o (?:usuario|utilizador))"
        r"|o (?:usuario|utilizador|dono) nao (?:pode|deve|precisa)",
        "nl": r"(?:vertel|zeg|informeer|toon|waarschuw|meld|laat)…(?:gebruiker|eigenaar|klant)…(?:niet|niets|nooit)"
        r"|(?:vertel|zeg|informeer|toon|waarschuw|meld)…(?:niet|niets|nooit)…(?:gebruiker|eigenaar|klant)"
        r"|(?:verzwijg|verberg)…|zonder (?:te vragen|toestemming|medeweten|het te)"
        r"|de (?:gebruiker|eigenaar) (?:mag|moet|hoeft|kan)…(?:niet|niets|nooit)",
        "ru": r"не (?:говори|сообщай|рассказывай|показывай|упоминай|предупреждай|раскрывай"
        r"|уведомляй)\S*…(?:пользовател|владел|клиент|ему|ей|им)|(?:скрой|скрывай|утаи|умолчи)\S*…"
        r"|(?:без ведома|втайне|тайком)"
        r"|(?:пользовател|владел)\S+ (?:\S+ )?(?:не (?:долж|узна|знает|нужно|может)|нельзя)",
        "zh": r"(?:不要|别|別|不得|不许|不許|切勿|勿|不能)…(?:告诉|告訴|通知|透露|提醒|让|讓|告知|显示|顯示)…(?:用户"
        r"|用戶|使用者|主人|他|她|任何人|知道)|(?:隐瞒|隱瞞|瞒着|瞞著|对用户保密|保密)"
        r"|(?:不能|不得|不可|绝不能|絕不能|不该|不該)(?:让|讓|被|使)?(?:用户|用戶|使用者|主人)"
        r"|(?:用户|用戶|使用者|主人)(?:不能|不得|不可|不该|不該|不应|不應|无需|無需|不必)(?:知道|得知|发现|發現|看到)",
        "ja": r"(?:ユーザー|利用者|持ち主|所有者|本人)…(?:言わない|知らせない|知らせるな|伝えない|伝えるな|教えない"
        r"|教えるな|言うな|見せない|秘密|内緒|隠)|(?:内緒|秘密)に(?:して|しろ|せよ)"
        r"|(?:ユーザー|利用者|持ち主|所有者)(?:に|には|が|は)…(?:知られて|気づかれ|ばれ|知っては|知る必要)",
    },
    "asks for secrets": {
        "en": r"(?:reveal|show|print|repeat|output|display|tell|give|leak|dump|disclose|share|copy|list|paste|recite"
        r"|expose|write)…(?:prompt|(?:your|initial|hidden|original|secret) (?:instruction|rule)s?|api keys?|passwords?"
        r"|passphrases?|secrets|credentials?|access tokens?|private keys?|seed phrase)|system prompt"
        r"|(?:first|initial|earlier|hidden) (?:message|prompt|instructions)|text (?:of|above)…(?:your|first)",
        "de": r"(?:zeig|verrat|nenn|gib|druck|wiederhol|offenbar|schick|schreib)\w*…(?:prompt|passw[oö]rt\w*"
        r"|zugangsdaten|schlussel|geheimnis\w*|anweisungen)|systemprompt\w*",
        "fr": r"(?:revele|affiche|montre|donne|repete|imprime|divulgue|copie|envoie)\w*…(?:prompt|mots? de passe"
        r"|identifiants|cles? (?:api|secrete)|secrets|tes instructions|vos instructions)",
        "es": r"(?:revela|muestra|da|dame|repite|imprime|divulga|copia|envia|ensena)\w*…(?:prompt|contrasenas?|claves?"
        r"|credenciales|secretos|tus instrucciones)",
        "it": r"(?:rivela|mostra|dammi|da|ripeti|stampa|divulga|copia|invia)\w*…(?:prompt|password|credenziali"
        r"|chiav[ei]|segreti|tue istruzioni)",
        "pt": r"(?:revele|revela|mostre|mostra|de|de-me|repita|imprima|divulgue|copie|envie)…(?:prompt|senhas?"
        r"|palavras-passe|credenciais|chaves?|segredos|suas instrucoes)",
        "nl": r"(?:toon|geef|onthul|herhaal|print|deel|kopieer|stuur)…(?:prompt|systeemprompt|wachtwoord\w*|sleutels?"
        r"|inloggegevens|geheimen)",
        "ru": r"(?:покажи|выведи|раскрой|повтори|напечатай|сообщи|выдай|перечисли|пришли)\S*…(?:промпт|парол|ключ"
        r"|секрет|учетные данные|инструкц)|системн\S+ промпт",
        "zh": r"(?:显示|顯示|输出|輸出|透露|告诉|告訴|重复|重複|打印|泄露|洩露|列出|给出|給出|说出|說出)…(?:提示词"
        r"|提示詞|密码|密碼|密钥|密鑰|金鑰|秘密|凭证|憑證|令牌|口令|你的指令)|系统提示|系統提示",
        "ja": r"(?:プロンプト|パスワード|暗証番号|APIキー|秘密鍵|認証情報|内部指示)(?:を|は|も)…(?:表示|出力|教え|見せ"
        r"|明かし|公開|開示|繰り返し|送|列挙)",
    },
    "asks to send something away": {
        "en": r"(?:send|post|forward|upload|e-?mail|transmit|exfiltrate|submit|deliver|report|write|copy|share|push"
        r"|leak|export|redirect)\b…(?:https?:|www|\S+@\w+)"
        r"|(?:transfer|wire|pay|move)…(?:iban|account|wallet|bitcoin|money to)|(?:visit|open|load|fetch|browse|go to"
        r"|click|download|follow|navigate to|curl|wget)…(?:https?:|www|the (?:link|url))|(?:delete|erase|forget|remove"
        r"|wipe|purge|clear|overwrite|destroy|export)…(?:memor(?:y|ies)|everything|vault|history"
        r"|(?:all|every|the user's) ~(?:notes?|facts?|records?|files?))|(?:approve|accept|grant|confirm)…without"
        r"|(?:transfer|wire|pay|move)…(?:money|deposit|amount|sum|fee|funds|euros|dollars)",
        "de": r"(?:schick|send|leit|ubertrag|lad|mail|verschick|poste?|ubermittl|kopier)\w*…(?:https?:|www|\S+@\w+)"
        r"|(?:uberweis)\w*…(?:konto|iban)|(?:besuch|offne|ruf|klick|lade)\w*…(?:https?:|www|link)"
        r"|(?:losch|vergiss|entfern|uberschreib)\w*…(?:erinnerung|gedachtnis|notizen|alles)\w*",
        "fr": r"(?:envoie|envoyez|transfere|transferez|transmet\w*|poste[zr]?|telecharge\w*|copie[zr]?"
        r"|expedie\w*)…(?:https?:|www|\S+@\w+)|(?:vire[zr]?|verse[zr]?|paye[zr]?)…(?:compte|iban)"
        r"|(?:visite|ouvre|va|allez|clique)\w*…(?:https?:|www|lien)"
        r"|(?:supprime|efface|oublie|detrui)\w*…(?:souvenir|memoire|notes|tout)\w*",
        "es": r"(?:envia|envie|reenvia|reenvie|manda|mande|sube|transmit\w|publica|copia)…(?:https?:|www|\S+@\w+)"
        r"|(?:transfiere|transfiera|paga)…(?:cuenta|iban)|(?:visita|abre|ve a|descarga|pulsa)…(?:https?:|www|enlace)"
        r"|(?:borra|elimina|olvida|suprime)\w*…(?:recuerdo|memoria|notas|todo)\w*",
        "it": r"(?:invia|inoltra|manda|spedisci|carica|trasmetti|pubblica|copia)…(?:https?:|www|\S+@\w+)"
        r"|(?:trasferisci|versa|bonifica|paga)…(?:conto|iban)|(?:visita|apri|vai|scarica|clicca)…(?:https?:|www|link)"
        r"|(?:cancella|elimina|dimentica|rimuovi)…(?:ricord|memori|note|tutt)\w*",
        "pt": r"(?:envie|envia|encaminhe|encaminha|mande|poste|transmita|copie|publique|suba)…(?:https?:|www|\S+@\w+)"
        r"|(?:transfira|pague|deposite)…(?:conta|iban)|(?:visite|abra|acesse|va|baixe|clique)…(?:https?:|www|link)"
        r"|(?:apague|elimine|exclua|esqueca|delete)…(?:memoria|lembranca|notas|tudo)\w*",
        "nl": r"(?:stuur|verzend|upload|mail|plaats|zend|kopieer)…(?:https?:|www|\S+@\w+)"
        r"|(?:maak|stort|betaal)…(?:rekening|iban)|(?:bezoek|open|ga naar|download|klik)…(?:https?:|www|link)"
        r"|(?:verwijder|wis|vergeet|vernietig)…(?:herinnering|geheugen|notities|alles)\w*",
        "ru": r"(?:отправ|пересыл|перешли|пошли|загрузи|передай|опубликуй|скопируй|шли)\S*…(?:https?:|www|\S+@\w+)"
        r"|(?:переведи|перечисли|оплати)\S*…(?:счет|карт|кошел)"
        r"|(?:посети|открой|перейди|скачай|нажми)\S*…(?:https?:|www|ссылк)"
        r"|(?:удали|сотри|забудь|уничтожь|очисти)\S*…(?:воспоминан|памят|заметк|все)",
        "zh": r"(?:发送|發送|转发|轉發|上传|上傳|传送|傳送|提交|寄|发给|發給|发到|發到|复制|複製)…"
        r"(?:https?:|www|[\w.]+@\w)"
        r"|(?:转账|轉帳|汇款|匯款|支付)…(?:账户|帳戶|账号|帳號)"
        r"|(?:访问|訪問|打开|打開|点击|點擊|下载|下載)…(?:https?:|www|链接|連結)"
        r"|(?:删除|刪除|清除|抹去|销毁|銷毀)…(?:记忆|記憶|笔记|筆記|记录|記錄|一切)",
        "ja": r"(?:https?:|www|[\w.]+@\w)\S*…(?:送信|転送|送って|送れ|投稿|アップロード|開い|アクセス|訪問"
        r"|ダウンロード)"
        r"|(?:口座|IBAN)…(?:振り込|送金)|(?:記憶|メモリ|ノート|履歴|思い出)…(?:削除|消去|消して|消せ|破棄)",
    },
    "tells the assistant who to be": {
        "en": r"you(?:'re| are) (?:now (?:an?|the|in|my|called|free|dan)|no longer"
        r"|(?:actually |really )?an? (?:unrestricted|uncensored|evil|jailbroken))|pretend (?:to be|that|you)|(?:^"
        r"|\W)(?:please|now|must|should|and|to|always|[.!?:;,\n]) ?(?:act|behave|respond|speak|pose) (?:as|like) (?:if"
        r"|an?|the|my|you|though)|^\W*(?:act|behave|respond|speak|pose) (?:as|like)|role-?play|do anything now"
        r"|jailbr(?:ea|o)k\w*"
        r"|(?:without|no) (?:any )?(?:restrictions?|limits|filters?|limitations|censorship|guardrails)",
        "de": r"du bist (?:jetzt|nun|ab jetzt|nicht mehr|in wahrheit)|sie sind (?:jetzt|nun) ein\w*"
        r"|tu(?:e|n sie)? (?:so|als)|(?:spiel|verhalte dich|benimm dich|antworte)…(?:wie|als|rolle)"
        r"|ohne (?:einschrankungen|grenzen|filter|beschrankungen)|gib dich als",
        "fr": r"(?:tu es|vous etes) (?:maintenant|desormais|en realite)|fai(?:s|tes) (?:semblant|comme si)"
        r"|(?:agis|comporte-toi|reponds|parle)…(?:comme|en tant)|joue le role"
        r"|sans (?:aucune )?(?:restrictions?|limites?|filtres?|censure)",
        "es": r"(?:ahora|ya no|en realidad) eres|eres (?:ahora|en realidad)|(?:finge|simula|haz como)"
        r"|(?:actua|comportate|responde|habla) como|haz el papel"
        r"|sin (?:ninguna )?(?:restriccion\w*|limites|filtros?|censura)",
        "it": r"(?:ora|adesso|in realta|non) sei (?:un|il|la|piu)|sei (?:ora|adesso)|(?:fai finta|fingi|simula)"
        r"|(?:comportati|agisci|rispondi|parla) come|recita la parte"
        r"|senza (?:alcuna )?(?:restrizion\w|limit\w|filtr\w|censura)",
        "pt": r"(?:agora|na verdade) (?:voce e|tu es|es)|voce (?:agora )?e (?:agora|um modelo)"
        r"|(?:finja|finge|simule|faca de conta)|(?:aja|comporte-se|responda|fale) como"
        r"|sem (?:nenhuma )?(?:restric\w*|limites|filtros?|censura)",
        "nl": r"(?:je|jij|u) bent (?:nu|voortaan|eigenlijk|niet langer)|doe alsof"
        r"|(?:gedraag je|antwoord|spreek|handel) als|speel de rol"
        r"|zonder (?:enige )?(?:beperking\w*|grenzen|filters?|censuur)",
        "ru": r"(?:теперь|отныне|на самом деле) (?:ты|вы)|(?:ты|вы) (?:теперь|больше не)|притвор\S+"
        r"|представь\S*…что ты|(?:веди себя|действуй|отвечай|говори) как|сыграй роль"
        r"|без (?:всяких )?(?:ограничени|цензур|фильтр)",
        "zh": r"(?:你|您)(?:现在|現在|其实|其實|已经|已經)?(?:是|不再是|成为|成為)(?:一个|一個)?…(?:模型|AI|助手|角色"
        r"|专家|專家|人)|(?:假装|假裝|扮演|装作|裝作|冒充|模拟|模擬)"
        r"|(?:没有|沒有|不受|无|無)(?:任何)?(?:限制|约束|約束|审查|審查|过滤|過濾)",
        "ja": r"(?:あなた|君|お前)は(?:今|いま|これ|もう|実は|本当は)|ふりを(?:し|する)"
        r"|(?:として|のように)(?:振る舞|ふるま|行動し|話し)|(?:役|ロール)を演じ"
        r"|(?:制限|制約|検閲|フィルター)の?(?:ない|なし|無い)",
    },
    "speaks to the reader": {
        "en": r"(?:^|[.!?:;,\n] ?|please |kindly |then |now |always |never |henceforth )(?:do not |don't |never "
        r"|always )?(?:speak|mention|answer|respond|reply|say (?:that|nothing)|state|claim|recite|treat|consider"
        r"|regard|assume|obey|comply|act on|execute|carry out|rank|rate|mark|approve|promote|prefer|favou?r|bring up"
        r"|hand over)|(?:do not|don't) follow"
        r"|(?:whoever|anyone who|any (?:system|model|program)|those who)…(?:read|process)\w*|let (?:nobody|no one)"
        r"|henceforth|the (?:bot|agent|model|program) (?:needs?|has|must|should|shall|is) ~to"
        r"|(?:earlier|prior|previous) (?:directions|instructions|rules|orders)"
        r"|i (?:order|command|instruct|authori[sz]e|require) you"
        r"|your (?:owner|settings|configuration|safety|programming)"
        r"|skip (?:the|all|any) ~(?:checks?|steps?|rules?|confirmations?)"
        r"|(?:insert|include|add|put|append|paste)…(?:https?:|link)",
        "de": r"(?:^|[.!?:;,\n] ?|bitte |und )(?:erwahne|nenne?|behandle|betrachte|antworte|sprich|befolge|gehorche"
        r"|empfiehl|behaupte|bewerte|sage? |gib|gebt)|ihr (?:musst|sollt|durft)|jede[rns]? antwort"
        r"|ich (?:befehle|weise|erlaube) (?:dir|dich|ihnen|sie)|(?:fuge|setz|schreib|nimm)\w*…(?:https?:|link)"
        r"|uberspring\w*",
        "fr": r"(?:^|[.!?:;,\n] ?|veuillez |et )(?:ne |n')?(?:parle[zr]?|mentionne[zr]?|considere[zr]?|traite[zr]?"
        r"|donne[zr]?-moi|cite[zr]?|repond(?:s|ez|re)|dis|dites|affirme[zr]?)|tu travailles|vous travaillez"
        r"|je (?:t'|vous |te )(?:ordonne|commande|demande|autorise)"
        r"|(?:inser|ajout|mets|mettez|inclu)\w*…(?:https?:|lien)",
        "es": r"(?:^|[.!?:;,\n] ?|por favor,? |y )(?:no |nunca |siempre )?(?:menciones?|menciona|habla|hables"
        r"|considera|considere|trata|dame|obedece|responde|di|afirma)|(?:te|le) (?:ordeno|mando|pido|autorizo)"
        r"|(?:insert|anad|inclu|pon)\w*…(?:https?:|enlace)",
        "it": r"(?:^|[.!?:;,\n] ?|per favore,? |e )(?:non |mai |sempre )?(?:menzionare|menziona|parlare|parla"
        r"|considera|tratta|dammi|obbedisci|rispondi|di'|afferma)|ti (?:ordino|comando|chiedo|autorizzo)"
        r"|(?:inseri|aggiung|includ|metti)\w*…(?:https?:|link)",
        "pt": r"(?:^|[.!?:;,\n] ?|por favor,? |e )(?:nao |nunca |sempre )?(?:mencione|fale|considere|trate|de-me|me de"
        r"|obedeca|responda|diga|afirme)|ordeno|(?:insir|adicion|inclu|coloque)\w*…(?:https?:|link)",
        "nl": r"(?:^|[.!?:;,\n] ?|alsjeblieft,? |en )(?:noem|vermeld|beschouw|behandel|geef (?:me|mij)|gehoorzaam"
        r"|antwoord|spreek|zeg)|ik (?:beveel|gebied|vraag) (?:je|jou|u)|(?:zet|voeg|plaats)…(?:https?:|link)",
        "ru": r"(?:^|[.!?:;,\n] ?|пожалуйста,? |и )(?:не |никогда не |всегда )?(?:упоминай|называй|считай|говори"
        r"|отвечай|дай мне|подчиняйся|скажи|утверждай)|(?:приказываю|велю|поручаю|разрешаю) (?:тебе|вам)"
        r"|(?:встав|добав|помести)\S*…(?:https?:|ссылк)",
        "zh": r"(?:不要|绝不要|絕不要|别|別|切勿|请勿|請勿)(?:再)?(?:提|说|說|谈|談|回答)"
        r"|(?:你|您)(?:现在|現在|从此|從此)|(?:请|請)(?:提到|推荐|推薦|回答|回复|回覆|把|将|將)"
        r"|我(?:命令|要求)(?:你|您)|(?:插入|加入|添加|放入)…(?:https?:|链接|連結)",
        "ja": r"(?:従え|従って(?:ください|下さい)|話すな|言うな|触れるな|働け|働いて(?:ください|下さい)|せよ|しろ"
        r"|するな|答えろ|教えてください|教えて下さい|見なしてください|みなしてください|扱ってください)(?:[。!\s]|$)"
        r"|(?:よう|ように)(?:命じ|命令し|指示)|(?:https?:|リンク)\S*…(?:入れ|挿入|追加|貼)",
    },
}
"""Shapes by what they do, said in words, and by language."""

MARKS = {
    "imitates the marks of a conversation": r"<\|/?\w{2,24}\|>|\[/?(?:inst|sys|system)\]|<</?sys>>"
    r"|(?:^|\n)\W{0,4}(?:system|developer)(?: ?(?:message|prompt|note|override))?\s*:"
    r"|(?:^|\n)\W{0,4}#{2,}\s*(?:system|instructions?|assistant|response|new task)\b"
    r"|</?\s*(?:system|instructions?|assistant|user|human|prompt|developer|memory-notes)\b[^>]{0,40}>"
    r"|\b(?:begin|end|start)(?:ning)? (?:of )?(?:the )?(?:new |system |user )*"
    r"(?:prompt|memory|memories|context|instructions?|user input)\b",
    "imitates a call of a tool": r"</?\s*(?:\w+:)?(?:tool_?\w*|function_?\w*|invoke|parameter)\b[^>]{0,80}>"
    r"|\"(?:tool|tool_?name|name|function|action|recipient_name)\"\s*:\s*\"[^\"\n]*\"\s*,"
    r"\s*\"(?:arguments|parameters|input|args|action_input|params)\""
    r"|(?:^|\n)\s*action(?: input)?\s*:|\bfunctions?\.\w+\(|\b(?:os\.system|subprocess\.\w+|eval|exec)\("
    r"|\b(?:curl|wget)\b[^\n]*\|\s*(?:ba|z)?sh\b|\brm -rf?\b|<script\b|javascript:",
    "carries a link that tells a secret": r"://[^/\s:@]+:[^/\s@]+@|!\[[^\]\n]*\]\(\s*https?://[^)\s]*\?",
    "hides its letters": r"(?:\b\pL[ \t._*|-]{1,3}){7,}\pL\b|[a-z]\p{Cyrillic}|\p{Cyrillic}[a-z]",
}
"""Shapes of no language."""

HIDDEN = "hides its letters"

_GAP = r"(?:[^.!?。\n]|\.\S|\b(?:dr|mrs?|ms|prof|st|nr)\.)*"
_APOSTROPHES = str.maketrans("’ʼ`´", "''''")
# A flag of a country's part is spelled with the same invisible letters.
_TAGS = re.compile("(?<![\U0001f3f4\U000e0020-\U000e007f])[\U000e0001-\U000e007f]")
_LEET = re.compile(r"(?i)[a-z][013457@$]|[013457@$][a-z]")
_LETTERS = str.maketrans("013457@$", "oieastas")


def instruction(text: str) -> str:
    """Why `text` reads like an instruction to the model, or '' (`X27`). Linear.

    Case, accents, kinds of letters and invisible signs make no difference; figures used
    as letters count as letters. `instruction("Ignore all previous rules.") == "asks to
    set instructions aside"`.
    """
    if _TAGS.search(text):
        return HIDDEN
    plain = _bare(text)
    return _first(plain) or (
        _first(plain.translate(_LETTERS)) if _LEET.search(plain) else ""
    )


def _first(plain: str) -> str:
    """The reason of the first row that matches."""
    reasons, automaton = _table()
    found = automaton.Match(plain.encode("utf-8", "replace"))
    return reasons[min(found)] if found else ""


def _bare(text: str) -> str:
    """`text` without accents, invisible signs and differences of width or style."""
    apart = unicodedata.normalize("NFKD", text)
    if not apart.isascii():
        apart = "".join(
            [sign for sign in apart if unicodedata.category(sign) not in {"Mn", "Cf"}]
        )
    return apart.translate(_APOSTROPHES)


@cache
def _table() -> tuple[tuple[str, ...], Any]:
    """The reason of each row, and one automaton of all rows."""
    rows = [
        (reason, spelled(_bare(pattern.replace("…", _GAP)), tongue))
        for reason, tongues in SHAPES.items()
        for tongue, pattern in tongues.items()
    ]
    rows += MARKS.items()
    return tuple(reason for reason, _ in rows), compiled(
        tuple(pattern for _, pattern in rows)
    )
