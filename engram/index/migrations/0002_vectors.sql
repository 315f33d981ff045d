-- The vectors of texts, by model and text; `digest` has 64 bits of the text's SHA-256.

CREATE EXTENSION IF NOT EXISTS vector SCHEMA public;

CREATE TABLE embedding (
    tag text COLLATE "C" NOT NULL, digest bigint NOT NULL, dimension integer NOT NULL,
    numbers public.vector NOT NULL,
    vault text COLLATE "C" NOT NULL DEFAULT current_setting('engram.vault'),
    PRIMARY KEY (vault, tag, dimension, digest)
);
