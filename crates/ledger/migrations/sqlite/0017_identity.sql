-- What all clones of a repository have: the commits without parents that it goes back to, and where it is fetched from;
-- and the clone that was known first. A row is a place; a repository may have had several.
ALTER TABLE repositories ADD COLUMN roots TEXT;
ALTER TABLE repositories ADD COLUMN remote TEXT;
ALTER TABLE repositories ADD COLUMN clone_of BLOB REFERENCES repositories(id);
