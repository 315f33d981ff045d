-- The turns and memories on which each fact rests, to find the facts of a turn.

CREATE TABLE evidence (
    source text COLLATE "C" NOT NULL, key text COLLATE "C" NOT NULL,
    vault text COLLATE "C" NOT NULL DEFAULT current_setting('engram.vault'),
    PRIMARY KEY (vault, source, key)
);
CREATE INDEX evidence_key ON evidence (vault, key);

-- The attribute, the subject and the value that each fact gives or ends.

CREATE TABLE slot (
    attribute text COLLATE "C" NOT NULL, subject text COLLATE "C" NOT NULL,
    value text COLLATE "C" NOT NULL, over integer NOT NULL,
    key text COLLATE "C" NOT NULL,
    vault text COLLATE "C" NOT NULL DEFAULT current_setting('engram.vault'),
    PRIMARY KEY (vault, attribute, subject, value, over, key)
);
CREATE INDEX slot_key ON slot (vault, key);
