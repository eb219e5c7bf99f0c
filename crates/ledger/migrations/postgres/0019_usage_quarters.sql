-- What the messages of a session cost together in each quarter of an hour, by model, branch and length of prompt. A fold of
-- `usages` alone (`ledger::usage::quarters`). By time, since most questions are about the last days.
CREATE TABLE usage_quarters (
    tenant       text COLLATE "C" NOT NULL,
    start        bigint NOT NULL,
    session      uuid NOT NULL,
    number       bigint NOT NULL,
    model        text,
    branch       text,
    messages     bigint NOT NULL,
    input        bigint NOT NULL,
    output       bigint NOT NULL,
    cache_read   bigint NOT NULL,
    cache_write  bigint NOT NULL,
    -- What is not counted, in JSON; none: nothing.
    left_out     text,
    prompt_least bigint NOT NULL,
    prompt_most  bigint NOT NULL,
    last_at      bigint NOT NULL,
    PRIMARY KEY (tenant, start, session, number)
);
CREATE INDEX usage_quarters_by_session ON usage_quarters (tenant, session);

-- The sessions that a link was ever attached to.
CREATE INDEX statements_of_links ON statements (tenant, session) WHERE kind = 'link_attached' AND session IS NOT NULL;

-- The same as `quarters` makes of usages that are there already. Sums are cut where they leave their column.
WITH messages AS (
    SELECT u.tenant, u.session, u.model, u.branch, u.at, u.at - (u.at % 900000000000 + 900000000000) % 900000000000 AS start,
        u.input, u.output, u.cache_read, u.cache_write,
        coalesce(u.left_out, '[[0,0,0,0,0],[0,0,0,0,0]]')::json AS left_out,
        u.input::numeric + u.cache_read + u.cache_write AS prompt,
        (u.input, u.output, u.cache_read, u.cache_write) <> (0, 0, 0, 0) AS costs,
        EXISTS (SELECT 1 FROM usages o WHERE o.tenant = u.tenant AND o.event = u.event AND o.at = u.at
            AND o.session < u.session) AS copied
    FROM usages u
), keyed AS (
    SELECT m.*, costs AND NOT copied AS counts,
        CASE WHEN copied OR NOT costs OR prompt <= 100000 THEN 0 WHEN prompt <= 200000 THEN 1 WHEN prompt <= 256000 THEN 2
            WHEN prompt <= 272000 THEN 3 ELSE 4 END AS band
    FROM messages m
), summed AS (
    SELECT tenant, session, start, model, branch, band,
        count(*) FILTER (WHERE counts) AS messages,
        coalesce(sum(input) FILTER (WHERE counts), 0) AS input,
        coalesce(sum(output) FILTER (WHERE counts), 0) AS output,
        coalesce(sum(cache_read) FILTER (WHERE counts), 0) AS cache_read,
        coalesce(sum(cache_write) FILTER (WHERE counts), 0) AS cache_write,
        coalesce(min(prompt) FILTER (WHERE counts), 0) AS prompt_least,
        coalesce(max(prompt) FILTER (WHERE counts), 0) AS prompt_most,
        coalesce(max(at) FILTER (WHERE counts), start) AS last_at,
        -- Five numbers each: records, then their tokens.
        (SELECT '[' || string_agg(least(n, 9223372036854775807)::text, ',' ORDER BY place) || ']' FROM unnest(ARRAY[
            coalesce(sum((left_out #>> '{0,0}')::numeric) FILTER (WHERE NOT copied), 0),
            coalesce(sum((left_out #>> '{0,1}')::numeric) FILTER (WHERE NOT copied), 0),
            coalesce(sum((left_out #>> '{0,2}')::numeric) FILTER (WHERE NOT copied), 0),
            coalesce(sum((left_out #>> '{0,3}')::numeric) FILTER (WHERE NOT copied), 0),
            coalesce(sum((left_out #>> '{0,4}')::numeric) FILTER (WHERE NOT copied), 0)
        ]) WITH ORDINALITY AS of (n, place)) AS repeated,
        (SELECT '[' || string_agg(least(n, 9223372036854775807)::text, ',' ORDER BY place) || ']' FROM unnest(ARRAY[
            coalesce(sum((left_out #>> '{1,0}')::numeric) FILTER (WHERE NOT copied), 0),
            coalesce(sum((left_out #>> '{1,1}')::numeric) FILTER (WHERE NOT copied), 0),
            coalesce(sum((left_out #>> '{1,2}')::numeric) FILTER (WHERE NOT copied), 0),
            coalesce(sum((left_out #>> '{1,3}')::numeric) FILTER (WHERE NOT copied), 0),
            coalesce(sum((left_out #>> '{1,4}')::numeric) FILTER (WHERE NOT copied), 0)
        ]) WITH ORDINALITY AS of (n, place)) AS retold,
        (SELECT '[' || string_agg(least(n, 9223372036854775807)::text, ',' ORDER BY place) || ']' FROM unnest(ARRAY[
            coalesce(sum(costs::int + (left_out #>> '{0,0}')::numeric + (left_out #>> '{1,0}')::numeric) FILTER (WHERE copied), 0),
            coalesce(sum(input + (left_out #>> '{0,1}')::numeric + (left_out #>> '{1,1}')::numeric) FILTER (WHERE copied), 0),
            coalesce(sum(output + (left_out #>> '{0,2}')::numeric + (left_out #>> '{1,2}')::numeric) FILTER (WHERE copied), 0),
            coalesce(sum(cache_read + (left_out #>> '{0,3}')::numeric + (left_out #>> '{1,3}')::numeric) FILTER (WHERE copied), 0),
            coalesce(sum(cache_write + (left_out #>> '{0,4}')::numeric + (left_out #>> '{1,4}')::numeric) FILTER (WHERE copied), 0)
        ]) WITH ORDINALITY AS of (n, place)) AS copied
    FROM keyed
    GROUP BY tenant, session, start, model, branch, band
)
INSERT INTO usage_quarters (tenant, start, session, number, model, branch, messages, input, output, cache_read, cache_write,
    left_out, prompt_least, prompt_most, last_at)
SELECT tenant, start, session,
    row_number() OVER (PARTITION BY tenant, session ORDER BY start, model NULLS FIRST, branch NULLS FIRST, band) - 1,
    model, branch, messages, least(input, 9223372036854775807), least(output, 9223372036854775807),
    least(cache_read, 9223372036854775807), least(cache_write, 9223372036854775807),
    nullif('[' || repeated || ',' || retold || ',' || copied || ']', '[[0,0,0,0,0],[0,0,0,0,0],[0,0,0,0,0]]'),
    least(prompt_least, 9223372036854775807), least(prompt_most, 9223372036854775807), last_at
FROM summed;
