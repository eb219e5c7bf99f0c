-- Puts copies of all sessions beside them, with what belongs to them, in a ledger with one tenant: `bench.first` to
-- `bench.last` are their numbers. Ids, names and digits of commits are others, times are earlier, payloads are the same. The
-- texts of judgements still name the sessions that were copied.
DO $$
DECLARE
    one record;
    names text;
    copied text;
BEGIN
    FOR one IN
        SELECT table_name::text AS name FROM information_schema.tables
        WHERE table_schema = current_schema() AND table_name IN ('sessions', 'aliases', 'processes', 'turns', 'observations',
            'summaries', 'usages', 'usage_quarters', 'edits', 'head_moves', 'receipts', 'intents', 'checkpoints', 'pins', 'commits',
            'authors', 'authorships', 'statements', 'links', 'session_links', 'session_repositories', 'pipelines', 'pipeline_sessions')
    LOOP
        SELECT string_agg(format('%I', column_name), ', ' ORDER BY ordinal_position),
            string_agg(CASE
                WHEN data_type = 'uuid' AND column_name NOT IN ('home', 'ledger', 'repository', 'sum')
                    THEN format('md5(t.%I::text || k)::uuid', column_name)
                WHEN column_name IN ('commit', 'old', 'new', 'patch')
                    THEN format('left(md5(t.%1$I || k) || md5(k || t.%1$I), length(t.%1$I))', column_name)
                WHEN data_type = 'text' AND column_name IN ('native', 'process', 'git', 'conversation_id', 'event')
                    THEN format('t.%I || ''.'' || k', column_name)
                WHEN (one.name, column_name) IN (('pipelines', 'id'), ('pipeline_sessions', 'pipeline'))
                    THEN format('t.%I || ''.'' || k', column_name)
                WHEN one.name IN ('links', 'session_links') AND column_name = 'value'
                    THEN 'CASE t.field WHEN ''pipeline_id'' THEN t.value || ''.'' || k ELSE t.value END'
                WHEN one.name = 'statements' AND column_name = 'sequence'
                    THEN format('t.%1$I + (k - %2$s + 1) * (SELECT max(%1$I) + 1 FROM statements)', column_name, current_setting('bench.first'))
                WHEN data_type = 'bigint' AND (column_name IN ('at', 'began', 'start', 'past', 'started') OR column_name LIKE '%\_at')
                    AND column_name <> 'parent_at'
                    -- Each copy at another hour of the year before, and those with numbers beside each other far apart.
                    THEN format('t.%I - (k::bigint * 7919 %% 8760) * 3600000000000', column_name)
                WHEN (one.name, column_name) = ('session_repositories', 'hour')
                    THEN format('t.%I - k::bigint * 7919 %% 8760', column_name)
                ELSE format('t.%I', column_name)
            END, ', ' ORDER BY ordinal_position)
        INTO names, copied
        FROM information_schema.columns
        WHERE table_schema = current_schema() AND table_name = one.name AND is_identity = 'NO' AND is_generated = 'NEVER';
        EXECUTE format('ALTER TABLE %I DISABLE TRIGGER USER', one.name);
        EXECUTE format('INSERT INTO %1$I (%2$s) SELECT %3$s FROM %1$I t, generate_series(%4$s, %5$s) AS k', one.name, names, copied,
            current_setting('bench.first'), current_setting('bench.last'));
        EXECUTE format('ALTER TABLE %I ENABLE TRIGGER USER', one.name);
    END LOOP;
END $$
