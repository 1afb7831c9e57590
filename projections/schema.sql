-- The tables of the views file.
--
-- Rows are conclusions: numbers, flags, keyed digests and references to words. Bodies are msgpack of the value classes in
-- `aggregates`; what SQL must filter, join or sum stands in columns.

CREATE TABLE IF NOT EXISTS bookmark (
    id INTEGER PRIMARY KEY, position INTEGER, log_time_us INTEGER, checksum BLOB
) STRICT;

CREATE TABLE IF NOT EXISTS failed (
    position INTEGER PRIMARY KEY, reason TEXT
) STRICT;

CREATE TABLE IF NOT EXISTS sessions (
    agent_session_id TEXT PRIMARY KEY, organization_id TEXT, developer_id TEXT
) STRICT;

CREATE TABLE IF NOT EXISTS captures (
    capture_id TEXT PRIMARY KEY, agent_session_id TEXT, at_us INTEGER, host_prompt_id TEXT, text_digest INTEGER,
    by_plugin INTEGER, body BLOB
) STRICT;
CREATE INDEX IF NOT EXISTS idx_captures_agent_session_id_at_us ON captures (agent_session_id, at_us);
CREATE INDEX IF NOT EXISTS idx_captures_agent_session_id_host_prompt_id ON captures (agent_session_id, host_prompt_id);
CREATE INDEX IF NOT EXISTS idx_captures_agent_session_id_text_digest_at_us ON captures (
    agent_session_id, text_digest, at_us
);

CREATE TABLE IF NOT EXISTS answers (
    capture_id TEXT PRIMARY KEY, agent_session_id TEXT, content_digest BLOB, received_at_us INTEGER, position INTEGER,
    body BLOB, price BLOB
) STRICT;
CREATE INDEX IF NOT EXISTS idx_answers_agent_session_id ON answers (agent_session_id);

CREATE TABLE IF NOT EXISTS observations (
    agent_session_id TEXT, at_us INTEGER, record_id TEXT, prompt_id TEXT, position INTEGER, body BLOB, price BLOB,
    twin TEXT, rank INTEGER, superseded INTEGER, PRIMARY KEY (agent_session_id, at_us, record_id)
) STRICT;
CREATE INDEX IF NOT EXISTS idx_observations_agent_session_id_prompt_id_at_us ON observations (
    agent_session_id, prompt_id, at_us
);
CREATE INDEX IF NOT EXISTS idx_observations_agent_session_id_twin ON observations (agent_session_id, twin);

CREATE TABLE IF NOT EXISTS edit_details (
    agent_session_id TEXT PRIMARY KEY
) STRICT;

CREATE TABLE IF NOT EXISTS telemetry_records (
    developer_id TEXT, at_us INTEGER, record_id TEXT, organization_id TEXT, signal TEXT, agent_session_id TEXT,
    name TEXT, kind TEXT, model TEXT, tool TEXT, ok INTEGER, status_code INTEGER, duration_ms INTEGER,
    position INTEGER, origin INTEGER, PRIMARY KEY (developer_id, at_us, record_id)
) STRICT;
CREATE INDEX IF NOT EXISTS idx_telemetry_records_agent_session_id_at_us ON telemetry_records (agent_session_id, at_us);

CREATE TABLE IF NOT EXISTS metric_points (
    developer_id TEXT, at_us INTEGER, record_id TEXT, organization_id TEXT, agent_session_id TEXT, name TEXT,
    kind TEXT, unit TEXT, temporality TEXT, monotonic INTEGER, start_us INTEGER, value REAL, series TEXT,
    meaning TEXT, model TEXT, position INTEGER, origin INTEGER, PRIMARY KEY (developer_id, at_us, record_id)
) STRICT;
CREATE INDEX IF NOT EXISTS idx_metric_points_developer_id_series_at_us ON metric_points (developer_id, series, at_us);
CREATE INDEX IF NOT EXISTS idx_metric_points_agent_session_id_meaning ON metric_points (agent_session_id, meaning);

CREATE TABLE IF NOT EXISTS requests (
    developer_id TEXT, at_us INTEGER, record_id TEXT, organization_id TEXT, agent_session_id TEXT, prompt_id TEXT,
    request_id TEXT, failed INTEGER, sidechain INTEGER, model TEXT, status_code INTEGER, retry_after_ms INTEGER,
    duration_ms INTEGER, input_tokens INTEGER, output_tokens INTEGER, cache_read_tokens INTEGER,
    cache_write_tokens INTEGER, cache_write_1h_tokens INTEGER, cost_usd_nano INTEGER, cost_kind TEXT,
    catalog_revision INTEGER, superseded INTEGER, position INTEGER, changed_position INTEGER,
    PRIMARY KEY (developer_id, at_us, record_id)
) STRICT;
CREATE INDEX IF NOT EXISTS idx_requests_agent_session_id_at_us ON requests (agent_session_id, at_us);
CREATE INDEX IF NOT EXISTS idx_requests_organization_id_at_us ON requests (organization_id, at_us);
CREATE INDEX IF NOT EXISTS idx_requests_organization_id_failed_at_us ON requests (organization_id, failed, at_us);
CREATE INDEX IF NOT EXISTS idx_requests_changed_position ON requests (changed_position);

CREATE TABLE IF NOT EXISTS turns (
    turn_id TEXT PRIMARY KEY, agent_session_id TEXT, started_us INTEGER, host_prompt_id TEXT, body BLOB
) STRICT;
CREATE INDEX IF NOT EXISTS idx_turns_agent_session_id_started_us ON turns (agent_session_id, started_us);
CREATE INDEX IF NOT EXISTS idx_turns_agent_session_id_host_prompt_id ON turns (agent_session_id, host_prompt_id);

CREATE TABLE IF NOT EXISTS turn_alias (
    alias_id TEXT PRIMARY KEY, turn_id TEXT
) STRICT;

CREATE TABLE IF NOT EXISTS arcs (
    arc_id TEXT PRIMARY KEY, organization_id TEXT, developer_id TEXT, agent_session_id TEXT, started_us INTEGER,
    sub_session_id TEXT, body BLOB
) STRICT;
CREATE INDEX IF NOT EXISTS idx_arcs_organization_id_developer_id_started_us ON arcs (
    organization_id, developer_id, started_us
);
CREATE INDEX IF NOT EXISTS idx_arcs_agent_session_id_started_us ON arcs (agent_session_id, started_us);
CREATE INDEX IF NOT EXISTS idx_arcs_sub_session_id ON arcs (sub_session_id);

CREATE TABLE IF NOT EXISTS sub_sessions (
    sub_session_id TEXT PRIMARY KEY, organization_id TEXT, developer_id TEXT, agent_session_id TEXT,
    last_agent_session_id TEXT, started_us INTEGER, last_activity_us INTEGER, settles_at_us INTEGER, turns INTEGER,
    floor_passed INTEGER, trivia_reason TEXT, intent TEXT, earned INTEGER, goal_complete INTEGER, reverts INTEGER,
    rework_of TEXT, input_tokens INTEGER, output_tokens INTEGER, cache_read_tokens INTEGER,
    cache_write_tokens INTEGER, cost_usd_nano INTEGER, requests INTEGER, unpriced_requests INTEGER,
    lower_bound_requests INTEGER, unmeasured_requests INTEGER, active_us INTEGER, ended_us INTEGER, models BLOB, rework_view BLOB, detail BLOB,
    judged_intent TEXT,
    judged_goal_complete INTEGER, judged_rework_of TEXT, said_rework INTEGER, overridden INTEGER, reviewed INTEGER,
    sure INTEGER, drawn INTEGER
) STRICT;
-- The figures of a month of a whole team are read from this index alone, without touching the rows.
CREATE INDEX IF NOT EXISTS idx_sub_sessions_figures ON sub_sessions (
    organization_id, developer_id, started_us, settles_at_us, floor_passed, judged_intent, judged_goal_complete,
    judged_rework_of, intent, goal_complete, rework_of, overridden, ended_us, turns, input_tokens,
    output_tokens, cache_read_tokens, cache_write_tokens, cost_usd_nano, requests, unpriced_requests,
    lower_bound_requests, unmeasured_requests, drawn
);
CREATE INDEX IF NOT EXISTS idx_sub_sessions_last_agent_session_id_started_us ON sub_sessions (
    last_agent_session_id, started_us
);
CREATE INDEX IF NOT EXISTS idx_sub_sessions_settles_at_us ON sub_sessions (settles_at_us);
CREATE INDEX IF NOT EXISTS idx_sub_sessions_organization_id_developer_id_last_activity_us ON sub_sessions (
    organization_id, developer_id, last_activity_us
);

CREATE TABLE IF NOT EXISTS sub_session_files (
    sub_session_id TEXT, digest INTEGER, changed INTEGER, edits INTEGER, lines_added INTEGER, lines_removed INTEGER,
    edits_without_lines INTEGER, seen_us INTEGER, position INTEGER, path_start INTEGER, path_end INTEGER,
    ended_us INTEGER, name INTEGER, PRIMARY KEY (sub_session_id, digest)
) STRICT;
-- Who else had a hand in a file at a time: few of a developer's thousands of sub-sessions.
CREATE INDEX IF NOT EXISTS idx_sub_session_files_digest_ended_us ON sub_session_files (digest, ended_us, changed);
CREATE INDEX IF NOT EXISTS idx_sub_session_files_name_ended_us ON sub_session_files (name, ended_us) WHERE changed;

-- Of a sub-session that takes work back, the last names of the paths that it names.
CREATE TABLE IF NOT EXISTS sub_session_reverts (
    sub_session_id TEXT, name INTEGER, started_us INTEGER, PRIMARY KEY (sub_session_id, name)
) STRICT;
CREATE INDEX IF NOT EXISTS idx_sub_session_reverts_name_started_us ON sub_session_reverts (name, started_us);

CREATE TABLE IF NOT EXISTS prompts (
    turn_id TEXT PRIMARY KEY, sub_session_id TEXT, organization_id TEXT, developer_id TEXT, at_us INTEGER,
    status TEXT, counted INTEGER, applicable INTEGER, standing_earned INTEGER, standing_sure INTEGER,
    standing_score REAL, own_score REAL, body BLOB, joined BLOB, own_earned INTEGER,
    rated INTEGER
) STRICT;
-- The same for grades.
CREATE INDEX IF NOT EXISTS idx_prompts_grades ON prompts (
    organization_id, developer_id, at_us, counted, applicable, standing_earned, standing_sure, standing_score, own_score,
    rated
);
CREATE INDEX IF NOT EXISTS idx_prompts_sub_session_id ON prompts (sub_session_id);

CREATE TABLE IF NOT EXISTS turn_signs (
    turn_id TEXT PRIMARY KEY, agent_session_id TEXT, started_us INTEGER, body BLOB
) STRICT;
CREATE INDEX IF NOT EXISTS idx_turn_signs_agent_session_id_started_us ON turn_signs (agent_session_id, started_us);

CREATE TABLE IF NOT EXISTS clears (
    turn_id TEXT PRIMARY KEY, agent_session_id TEXT, organization_id TEXT, developer_id TEXT, at_us INTEGER, body BLOB
) STRICT;
CREATE INDEX IF NOT EXISTS idx_clears_agent_session_id ON clears (agent_session_id);
CREATE INDEX IF NOT EXISTS idx_clears_organization_id_developer_id_at_us ON clears (
    organization_id, developer_id, at_us
);

CREATE TABLE IF NOT EXISTS skews (
    position INTEGER PRIMARY KEY, organization_id TEXT, developer_id TEXT, agent_session_id TEXT, day INTEGER,
    received_us INTEGER, ahead_us INTEGER
) STRICT;
CREATE INDEX IF NOT EXISTS idx_skews_organization_id_developer_id_agent_session_id_day ON skews (
    organization_id, developer_id, agent_session_id, day
);

CREATE TABLE IF NOT EXISTS flags (
    flag_id TEXT PRIMARY KEY, organization_id TEXT, developer_id TEXT, kind TEXT, detected_at_us INTEGER,
    agent_session_id TEXT, turn_id TEXT, count INTEGER, window_seconds INTEGER, details BLOB
) STRICT;
CREATE INDEX IF NOT EXISTS idx_flags_agent_session_id ON flags (agent_session_id);
CREATE INDEX IF NOT EXISTS idx_flags_organization_id_developer_id_detected_at_us ON flags (
    organization_id, developer_id, detected_at_us
);

CREATE TABLE IF NOT EXISTS catalogs (
    revision INTEGER PRIMARY KEY, checksum TEXT, position INTEGER, body BLOB
) STRICT;

CREATE TABLE IF NOT EXISTS report_steps (
    report_id TEXT, step TEXT, organization_id TEXT, developer_id TEXT, at_us INTEGER, position INTEGER, body BLOB,
    PRIMARY KEY (report_id, step)
) STRICT;
CREATE INDEX IF NOT EXISTS idx_report_steps_organization_id_developer_id_step_position ON report_steps (
    organization_id, developer_id, step, position
);
CREATE INDEX IF NOT EXISTS idx_report_steps_step_position ON report_steps (step, position);

CREATE TABLE IF NOT EXISTS setups (
    developer_id TEXT PRIMARY KEY
) STRICT;

-- When each agent's signals last came, imports aside.
CREATE TABLE IF NOT EXISTS arrivals (
    organization_id TEXT, developer_id TEXT, source TEXT, signal TEXT, last_us INTEGER,
    PRIMARY KEY (organization_id, developer_id, source, signal)
) STRICT;

CREATE TABLE IF NOT EXISTS corrections (
    agent_session_id TEXT, capture_id TEXT, topic TEXT, position INTEGER, said TEXT,
    PRIMARY KEY (agent_session_id, capture_id, topic)
) STRICT;
CREATE INDEX IF NOT EXISTS idx_corrections_titles ON corrections (capture_id, position) WHERE topic = 'title';

CREATE TABLE IF NOT EXISTS judge_answers (
    agent_session_id TEXT, capture_id TEXT, kind TEXT, position INTEGER, body BLOB,
    PRIMARY KEY (agent_session_id, capture_id, kind)
) STRICT;

CREATE TABLE IF NOT EXISTS titles (
    turn_id TEXT, position INTEGER, has_summary INTEGER, PRIMARY KEY (turn_id, position)
) STRICT;
