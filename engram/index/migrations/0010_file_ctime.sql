-- The time of the last change of each file, which no program can set.

ALTER TABLE file ADD COLUMN ctime bigint NOT NULL DEFAULT 0;
