-- Who has a vault open: `fence` grows with each process that takes it.

CREATE TABLE lease (
    fence bigint NOT NULL, holder text NOT NULL,
    taken timestamptz NOT NULL DEFAULT now(),
    vault text COLLATE "C" NOT NULL DEFAULT current_setting('engram.vault'),
    PRIMARY KEY (vault)
);
