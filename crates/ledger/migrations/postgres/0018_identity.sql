-- What tells clones of one repository from others: the commits without parents that it goes back to, where it is fetched
-- from, and the repository that it is known to be a clone of.
ALTER TABLE repositories ADD COLUMN roots TEXT NOT NULL DEFAULT '';
ALTER TABLE repositories ADD COLUMN remote TEXT;
ALTER TABLE repositories ADD COLUMN clone_of UUID;
