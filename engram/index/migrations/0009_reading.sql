-- What recall needs of the words of a turn, empty for other units.

ALTER TABLE unit ADD COLUMN reading text NOT NULL DEFAULT '';
