-- The daemons that share vaults, so that one that does not fit is told at its start. The
-- marks tell folders apart; `until` is a little after its last sign of life.

CREATE TABLE daemon (
    address text COLLATE "C" PRIMARY KEY, host text NOT NULL, pid integer NOT NULL,
    folder text NOT NULL, folder_mark text NOT NULL, state_mark text NOT NULL,
    until timestamptz NOT NULL
);
