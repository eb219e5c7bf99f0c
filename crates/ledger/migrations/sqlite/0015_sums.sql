-- Rows have a sum of their columns from here on (`ledger::sums`), which is no change of a commit.
DROP TRIGGER commit_changed;
CREATE TRIGGER commit_changed AFTER UPDATE OF repository, "commit", checkpoint, intent, session, committer, verdict, judgement, facts, patch, at, seen_by ON commits BEGIN
    INSERT INTO documents (projection, kind, document, due)
        SELECT projection, 'commit', lower(hex(NEW.repository)) || ':' || NEW."commit", 1 FROM destinations WHERE true
        ON CONFLICT (projection, kind, document) DO UPDATE SET due = due + 1;
END;
