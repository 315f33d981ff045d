"""The keys and tokens of services, by their documented prefixes (row X11).

`PREFIXED` has a row for each class: its name, the pattern of a key, and whether the key
must mix letters with digits, because its prefix alone occurs in plain words too. A key
of an unlisted service is found by a part of its prefix (`NAMED_PREFIX`), or by the
words around it.
"""

from __future__ import annotations

PREFIXED: tuple[tuple[str, str, bool], ...] = (
    (
        "jwt",
        r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){1,3}",
        False,
    ),
    ("anthropic key", r"sk-ant-[A-Za-z0-9_-]{20,}", False),
    ("stripe key", r"(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9]{10,}", False),
    ("openai key", r"sk-[A-Za-z0-9_-]{20,}", True),
    (
        "github token",
        r"gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,}",
        False,
    ),
    (
        "gitlab token",
        r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|soat|oas|ffct)-[A-Za-z0-9_-]{20,}",
        False,
    ),
    ("slack token", r"xox[a-z]-[A-Za-z0-9-]{10,}|xapp-\d-[A-Za-z0-9-]{10,}", False),
    (
        "webhook",
        (
            r"https://(?:hooks\.slack\.com/(?:services|workflows|triggers)"
            r"|discord(?:app)?\.com/api/webhooks|hooks\.zapier\.com/hooks/catch"
            r"|[a-z0-9.-]+\.webhook\.office\.com/webhook[a-z0-9]*)/[A-Za-z0-9/_@-]{14,}"
        ),
        False,
    ),
    ("aws key", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}|ABSK[A-Za-z0-9+/=]{60,}", False),
    (
        "google key",
        r"AIza[A-Za-z0-9_-]{35}|GOCSPX-[A-Za-z0-9_-]{20,}|ya29\.[A-Za-z0-9_-]{20,}|1//0[A-Za-z0-9_-]{30,}",
        False,
    ),
    ("hugging face token", r"(?:hf|api_org)_[A-Za-z0-9]{30,}", False),
    ("npm token", r"npm_[A-Za-z0-9]{30,}", False),
    ("pypi token", r"pypi-[A-Za-z0-9_-]{50,}", False),
    ("sendgrid key", r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}", False),
    ("twilio key", r"SK[0-9a-f]{32}", False),
    ("telegram token", r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}", False),
    (
        "discord token",
        (
            r"[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}"
            r"|mfa\.[A-Za-z0-9_-]{80,}"
        ),
        True,
    ),
    ("digitalocean token", r"do[opr]_v1_[0-9a-f]{64}", False),
    ("shopify token", r"shp(?:at|ca|pa|ss)_[0-9A-Fa-f]{32}", False),
    ("databricks token", r"dapi[0-9a-f]{32}", False),
    ("docker token", r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}", False),
    (
        "atlassian token",
        r"AT[AC]TT3[A-Za-z0-9_=-]{60,}|ATBB[A-Za-z0-9]{24,}",
        False,
    ),
    (
        "azure key",
        (
            r"[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}"
            r"|[a-z2-7]{52}|[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}|[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{20,}"
        ),
        True,
    ),
    (
        "model key",
        (
            r"(?:gsk_|r8_|pplx-|xai-|nvapi-|tvly-|csk-|fw_|jina_|nk-|pa-|rpa_|e2b_)[A-Za-z0-9_-]{30,}"
            r"|tgp_v1_[A-Za-z0-9_-]{30,}|fc-[0-9a-f]{32}|sk_[A-Za-z0-9]{32,}"
            r"|lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}|pcsk_[A-Za-z0-9]{4,8}_[A-Za-z0-9]{40,}"
        ),
        True,
    ),
    (
        "monitoring key",
        (
            r"NR(?:AK|II|JS|SP|RA|AA)-[A-Za-z0-9]{19,}|sntry[su]_[A-Za-z0-9_=+/-]{40,}"
            r"|glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}|glc_[A-Za-z0-9+/=]{32,}"
            r"|dt0[a-z]01\.[A-Z0-9]{24}\.[A-Z0-9]{64}|ph[xc]_[A-Za-z0-9]{40,}"
        ),
        False,
    ),
    (
        "hosting token",
        (
            r"HRKU-[A-Za-z0-9_-]{36,}|fm[12]_[A-Za-z0-9+/=_,-]{60,}|fo1_[A-Za-z0-9_-]{40,}"
            r"|sb_secret_[A-Za-z0-9_-]{20,}|sbp_[0-9a-f]{40}|pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,}"
            r"|napi_[a-z0-9]{40,}|rnd_[A-Za-z0-9]{28,}|nfp_[A-Za-z0-9]{36,}"
            r"|[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,}|pul-[0-9a-f]{40}"
            r"|dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,}"
            r"|tskey-[a-z]+-[A-Za-z0-9-]{20,}|v1\.0-[0-9a-f]{24}-[0-9a-f]{100,}"
            r"|LTAI[A-Za-z0-9]{16,24}|AKID[A-Za-z0-9]{32}|AQVN[A-Za-z0-9_-]{35,38}"
        ),
        True,
    ),
    (
        "registry token",
        (
            r"rubygems_[0-9a-f]{48}|oy2[a-z0-9]{43}|CLOJARS_[0-9a-z]{60}|AKCp[A-Za-z0-9]{60,}"
            r"|sq[upa]_[0-9a-f]{40}|CCIPAT_[A-Za-z0-9_]{40,}|bkua_[0-9a-f]{40}|sgp_[0-9a-f_]{40,}"
        ),
        True,
    ),
    (
        "mail key",
        (
            r"key-[0-9a-f]{32}|[0-9a-f]{32}-us[0-9]{1,2}|xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}"
            r"|re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}"
        ),
        False,
    ),
    (
        "payment key",
        (
            r"sq0(?:csp|atp|idp)-[A-Za-z0-9_-]{22,}|EAAA[A-Za-z0-9_-]{56,}|EZ[AT]K[A-Za-z0-9]{54}"
            r"|access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[0-9a-f]{32}"
            r"|(?:shippo|duffel)_(?:live|test)_[A-Za-z0-9_-]{40,}"
        ),
        False,
    ),
    (
        "token",
        (
            r"hv[sb]\.[A-Za-z0-9_-]{24,}|A3-[A-Z0-9]{6}-(?:[A-Z0-9]{5,11}-){3,4}[A-Z0-9]{5}|p8e-[A-Za-z0-9]{32}"
            r"|cmVmd[A-Za-z0-9]{59}|4b1d[A-Za-z0-9]{38}|dnkey-[a-z0-9=_-]{26}-[a-z0-9=_-]{52}|FLWSECK_TEST-[a-h0-9]{12,}"
            r"|fio-u-[A-Za-z0-9=_-]{64}|GR1348941[A-Za-z0-9_-]{20}|eyJrIjoi[A-Za-z0-9+/=]{60,}|API-[A-Z0-9]{26}"
            r"|(?:pat|sat)\.[A-Za-z0-9_-]{22}\.[0-9a-f]{24}\.[A-Za-z0-9]{20}|ico-[A-Za-z0-9]{32}|sha256~[A-Za-z0-9_-]{43}"
            r"|(?:live|test)_(?:pub_)?[0-9a-f]{31,}|pnu_[A-Za-z0-9]{36}|rdme_[a-z0-9]{70}|tk-us-[A-Za-z0-9_-]{48}"
            r"|sm_aat_[A-Za-z0-9]{16}|[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk|pubkey-[0-9a-f]{32}"
            r"|lin_api_[A-Za-z0-9]{30,}|ntn_[A-Za-z0-9]{30,}"
            r"|secret_[A-Za-z0-9]{43}|AGE-SECRET-KEY-1[0-9A-Z]{58}|figd_[A-Za-z0-9_-]{35,}"
            r"|pat[A-Za-z0-9]{14}\.[0-9a-f]{64}|PMAK-[0-9a-f]{24}-[0-9a-f]{34}|CFPAT-[A-Za-z0-9_-]{40,}"
            r"|EAA[A-Za-z0-9]{80,}|AAAAAAAAA[A-Za-z0-9%]{80,}|sl\.[A-Za-z0-9_-]{100,}"
            r"|ops_eyJ[A-Za-z0-9_+/=-]{100,}|sk\.eyJ[A-Za-z0-9_.-]{40,}|tfp_[A-Za-z0-9_]{40,}"
        ),
        True,
    ),
)

NAMED_PREFIX = (
    r"(?:[A-Za-z0-9]{1,12}[_-]){0,3}"
    r"(?:[b-df-hj-np-tv-z0-9]{0,3}sk|pat|tok|tkn|token|secret|pw|[as]?api|api_?key|[st]?key|auth)"
    r"[_-](?:[A-Za-z0-9]{1,8}[_-]){0,3}(?P<value>[A-Za-z0-9]{24,})"
)
"""A key whose prefix has a part such as `sk`, `pat` or `token`: `acme_pat_9fQ…`."""
