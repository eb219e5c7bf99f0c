-- What surrounded an edit: which file it was on disk, how far HEAD had come, and what the tool itself
-- says it read and wrote. JSON; none: nothing of that is known.
ALTER TABLE edits ADD COLUMN detail TEXT;
