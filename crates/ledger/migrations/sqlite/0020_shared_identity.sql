-- What tells clones of a repository from others is sent, too, and again where it changes. What destinations have was sent
-- without it.
CREATE TRIGGER repository_identified AFTER UPDATE OF roots, remote, clone_of ON repositories
    WHEN NEW.roots IS NOT OLD.roots OR NEW.remote IS NOT OLD.remote OR NEW.clone_of IS NOT OLD.clone_of BEGIN
    INSERT INTO documents (projection, kind, document, due)
        SELECT projection, 'repository', lower(hex(NEW.id)), 1 FROM destinations WHERE true
        ON CONFLICT (projection, kind, document) DO UPDATE SET due = due + 1;
END;
UPDATE documents SET due = due + 1 WHERE kind = 'repository'
    AND document IN (SELECT lower(hex(id)) FROM repositories WHERE roots <> '' OR remote IS NOT NULL);
