-- Attestations of a commit are looked for in all repositories: its id is the same in each.
CREATE INDEX statements_of_commits ON statements ("commit") WHERE "commit" IS NOT NULL;
