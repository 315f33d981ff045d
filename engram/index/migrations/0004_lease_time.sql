-- Until when a vault is held, by which process, and where others reach it. A holder that
-- did not close with an empty journal (`clean`) may have acknowledged turns that are in
-- its state folder (`state`) alone. The vault '*' sees the leases of all vaults: it is
-- the value that a process sets for its own statements.

ALTER TABLE lease
    DROP COLUMN holder,
    ADD COLUMN host text NOT NULL DEFAULT '',
    ADD COLUMN pid integer NOT NULL DEFAULT 0,
    ADD COLUMN kernel text COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN process text COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN address text NOT NULL DEFAULT '',
    ADD COLUMN state text COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN clean boolean NOT NULL DEFAULT true,
    ADD COLUMN until timestamptz NOT NULL DEFAULT 'epoch';

CREATE POLICY every_vault ON lease
    USING (current_setting('engram.vault', true) = '*')
    WITH CHECK (current_setting('engram.vault', true) = '*');
