-- A commit is finished when the authors of its lines are known, and not when git has answered: its patch is stored with
-- them. Oldest first, so that what a commit is made of is known when its copy comes.
DROP INDEX commits_unfinished;
CREATE INDEX commits_unfinished ON commits (tenant, repository, at) WHERE patch IS NULL;
