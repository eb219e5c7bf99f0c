-- What tells clones of one repository from others: the commits without parents that it goes back to, where it is fetched
-- from, and the repository that it is known to be a clone of.
ALTER TABLE repositories ADD COLUMN roots TEXT NOT NULL DEFAULT '';
ALTER TABLE repositories ADD COLUMN remote TEXT;
ALTER TABLE repositories ADD COLUMN clone_of BLOB REFERENCES repositories(id);
-- A repository that was moved is sent again.
CREATE TRIGGER repository_moved AFTER UPDATE OF common_dir ON repositories WHEN NEW.common_dir IS NOT OLD.common_dir BEGIN
    INSERT INTO documents (projection, kind, document, due)
        SELECT projection, 'repository', lower(hex(NEW.id)), 1 FROM destinations WHERE true
        ON CONFLICT (projection, kind, document) DO UPDATE SET due = due + 1;
END;
