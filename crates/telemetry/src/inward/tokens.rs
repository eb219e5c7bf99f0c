//! What a message cost, in the ledger's way of counting: input without what came from or went into a cache, output with
//! what the model thought.

use siglum_domain::observation::Tokens;

use super::record::Record;

/// The keys under which emitters write one count, newest name first.
const INPUT: &[&str] = &[
    "gen_ai.usage.input_tokens",
    "ai.usage.inputTokens",
    "llm.token_count.prompt",
    "gen_ai.usage.prompt_tokens",
    "ai.usage.promptTokens",
    "llm.usage.prompt_tokens",
];
const OUTPUT: &[&str] = &[
    "gen_ai.usage.output_tokens",
    "ai.usage.outputTokens",
    "llm.token_count.completion",
    "gen_ai.usage.completion_tokens",
    "ai.usage.completionTokens",
    "llm.usage.completion_tokens",
];
const CACHE_READ: &[&str] = &[
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.cache_read_input_tokens",
    "ai.usage.inputTokenDetails.cacheReadTokens",
    "ai.usage.cachedInputTokens",
    "llm.token_count.prompt_details.cache_read",
];
const CACHE_WRITE: &[&str] = &[
    "gen_ai.usage.cache_creation.input_tokens",
    "gen_ai.usage.cache_creation_input_tokens",
    "gen_ai.usage.cache_write.input_tokens",
    "ai.usage.inputTokenDetails.cacheWriteTokens",
    "llm.token_count.prompt_details.cache_write",
];

/// By the conventions: cached tokens are part of the input, thoughts part of the output.
pub(super) fn conventional(record: &Record<'_>) -> Option<Tokens> {
    let (input, output) = (record.first_count(INPUT), record.first_count(OUTPUT));
    if input.is_none() && output.is_none() {
        return None;
    }
    let cache_read = record.first_count(CACHE_READ).unwrap_or(0);
    let cache_write = record.first_count(CACHE_WRITE).unwrap_or(0);
    let input = without_cache(input.unwrap_or(0), cache_read, cache_write);
    Some(Tokens {
        input,
        output: output.unwrap_or(0),
        cache_read,
        cache_write,
    })
}

/// Some count cached tokens beside the input against the conventions: more of them than input gives that away.
const fn without_cache(input: u64, read: u64, write: u64) -> u64 {
    let cached = read.saturating_add(write);
    if cached > input {
        input
    } else {
        input - cached
    }
}

/// As Claude Code counts: each kind apart.
pub(super) fn claude(record: &Record<'_>) -> Option<Tokens> {
    let count = |key| record.count(key).unwrap_or(0);
    record.count("output_tokens").map(|output| Tokens {
        input: count("input_tokens"),
        output,
        cache_read: count("cache_read_tokens"),
        cache_write: count("cache_creation_tokens"),
    })
}

/// As Codex counts: cached tokens are part of the input, thoughts part of the output.
pub(super) fn codex(record: &Record<'_>) -> Option<Tokens> {
    let count = |key| record.count(key).unwrap_or(0);
    let (read, write) = (
        count("cached_token_count"),
        count("cache_write_token_count"),
    );
    record.count("input_token_count").map(|input| Tokens {
        input: input.saturating_sub(read).saturating_sub(write),
        output: count("output_token_count"),
        cache_read: read,
        cache_write: write,
    })
}

/// As Gemini CLI and its offspring count: cached tokens are part of the input. Thoughts and what tools put into the
/// prompt stand apart where the model is Google's and are part of output and input where it is not; the sum tells.
pub(super) fn gemini(record: &Record<'_>) -> Option<Tokens> {
    let count = |key| record.count(key).unwrap_or(0);
    let input = record.count("input_token_count")?;
    let output = count("output_token_count");
    let (thoughts, tool) = (count("thoughts_token_count"), count("tool_token_count"));
    let read = count("cached_content_token_count");
    let total = record.count("total_token_count").filter(|total| *total > 0);
    let are_apart = total.is_none_or(|total| total > input.saturating_add(output));
    let (thoughts, tool) = if are_apart { (thoughts, tool) } else { (0, 0) };
    Some(Tokens {
        input: input.saturating_sub(read).saturating_add(tool),
        output: output.saturating_add(thoughts),
        cache_read: read,
        cache_write: 0,
    })
}
