-- What tells clones of a repository from others is sent, too. What destinations have was sent without it.
UPDATE documents d SET due = d.due + 1 FROM repositories r
    WHERE d.kind = 'repository' AND r.tenant = d.tenant AND d.document = replace(r.id::text, '-', '')
    AND (r.roots <> '' OR r.remote IS NOT NULL);
