-- The facts with a todo stage, found without reading the others. The condition is that of
-- `PROMISES` in database.py.

CREATE INDEX unit_promise ON unit (vault, path) WHERE kind = 'fact' AND (
    instr(record, '"commitment"') OR instr(record, '"habit"')
    OR instr(record, '"thread"') OR instr(record, '"friction"')
);
