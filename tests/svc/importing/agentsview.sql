-- A small archive as AgentsView 0.46.1 makes it (data version 143), of the tables and columns that are read.
PRAGMA user_version = 143;
CREATE TABLE sessions (id TEXT PRIMARY KEY, project TEXT NOT NULL, machine TEXT NOT NULL DEFAULT 'local',
    agent TEXT NOT NULL, source_session_id TEXT NOT NULL DEFAULT '', cwd TEXT NOT NULL DEFAULT '', started_at TEXT,
    ended_at TEXT, created_at TEXT NOT NULL DEFAULT '2026-11-23T20:00:00.000Z', parent_session_id TEXT,
    relationship_type TEXT NOT NULL DEFAULT '', is_automated INTEGER NOT NULL DEFAULT 0,
    transcript_revision TEXT NOT NULL DEFAULT '0', deleted_at TEXT);
CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT NOT NULL, ordinal INTEGER NOT NULL, role TEXT NOT NULL,
    content TEXT NOT NULL, dialogue_text TEXT, timestamp TEXT, is_system INTEGER NOT NULL DEFAULT 0,
    is_sidechain INTEGER NOT NULL DEFAULT 0, model TEXT NOT NULL DEFAULT '', token_usage TEXT NOT NULL DEFAULT '',
    claude_message_id TEXT NOT NULL DEFAULT '', claude_request_id TEXT NOT NULL DEFAULT '',
    source_subtype TEXT NOT NULL DEFAULT '', source_uuid TEXT NOT NULL DEFAULT '',
    prompt_source TEXT NOT NULL DEFAULT '', UNIQUE(session_id, ordinal));
CREATE TABLE tool_calls (id INTEGER PRIMARY KEY, message_id INTEGER NOT NULL, session_id TEXT NOT NULL,
    tool_name TEXT NOT NULL, category TEXT NOT NULL, tool_use_id TEXT, input_json TEXT, file_path TEXT,
    call_index INTEGER, result_content TEXT, subagent_session_id TEXT);
CREATE TABLE tool_result_events (id INTEGER PRIMARY KEY, session_id TEXT NOT NULL,
    tool_call_message_ordinal INTEGER NOT NULL, call_index INTEGER NOT NULL DEFAULT 0, status TEXT NOT NULL,
    content TEXT NOT NULL, timestamp TEXT, event_index INTEGER NOT NULL DEFAULT 0);
CREATE TABLE usage_events (id INTEGER PRIMARY KEY, session_id TEXT NOT NULL, model TEXT NOT NULL,
    input_tokens INTEGER NOT NULL DEFAULT 0, output_tokens INTEGER NOT NULL DEFAULT 0,
    cache_creation_input_tokens INTEGER NOT NULL DEFAULT 0, cache_read_input_tokens INTEGER NOT NULL DEFAULT 0,
    cost_microdollars INTEGER, cost_status TEXT NOT NULL DEFAULT '', occurred_at TEXT, dedup_key TEXT NOT NULL DEFAULT '',
    source TEXT NOT NULL DEFAULT '');

INSERT INTO sessions (id, project, machine, agent, cwd, started_at, ended_at, parent_session_id, relationship_type,
    is_automated) VALUES
('pi:0199aaaa-0000-7000-8000-000000000001', 'shop', 'm1', 'pi', '/home/dev/shop', '2026-11-23T09:00:00Z',
    '2026-11-23T09:01:12Z', NULL, '', 0),
('pi:0199aaaa-0000-7000-8000-000000000002', 'shop', 'm1', 'pi', '/home/dev/shop', '2026-11-23T09:00:00Z',
    '2026-11-23T10:00:04Z', 'pi:2026-11-23T09-00_0199aaaa-0000-7000-8000-000000000001', 'fork', 0),
('cursor:33334444-0000-4000-8000-0000000000cc', 'shop', 'm1', 'cursor', '', '2026-11-23T11:00:00Z', NULL, NULL, '', 0),
('opencode:ses_one', 'shop', 'm1', 'opencode', '/home/dev/shop', '2026-11-23T12:00:00Z', NULL, NULL, '', 0),
('opencode:ses_sub', 'shop', 'm1', 'opencode', '/home/dev/shop', '2026-11-23T12:00:17Z', NULL, 'opencode:ses_one', '', 0),
('goose:20261123_1', 'shop', 'm1', 'goose', '/home/dev/shop', '2026-11-23T13:00:00Z', NULL, NULL, '', 0),
('goose:20261123_2', 'shop', 'm1', 'goose', '/home/dev/shop', '2026-11-23T14:00:00Z', NULL, NULL, '', 1),
('stem', 'shop', 'm1', 'claude', '/home/dev/shop', '2026-11-23T15:00:00Z', NULL, NULL, '', 0);
UPDATE sessions SET source_session_id = 'c1a0de00-0000-4000-8000-000000000001' WHERE id = 'stem';

INSERT INTO messages (id, session_id, ordinal, role, content, dialogue_text, timestamp, model, token_usage, source_uuid)
SELECT s.number * 100 + m.ordinal, s.id, m.ordinal, m.role, m.content, m.dialogue, m.at, m.model, m.usage, m.uuid FROM (
    SELECT 'pi:0199aaaa-0000-7000-8000-000000000001' AS id, 1 AS number
    UNION ALL SELECT 'pi:0199aaaa-0000-7000-8000-000000000002', 2) s CROSS JOIN (
    SELECT 0 AS ordinal, 'user' AS role, 'Round the totals in src/cart.py; pytest must pass.' AS content,
        NULL AS dialogue, '2026-11-23T09:00:05Z' AS at, '' AS model, '' AS usage, 'a1' AS uuid
    UNION ALL SELECT 1, 'assistant', '[Thinking]
Look first.
[/Thinking]
I edit it.
[Edit: src/cart.py]', 'I edit it.', '2026-11-23T09:00:09Z', 'claude-sonnet-4-5',
        '{"input_tokens":40,"output_tokens":120,"cache_read_input_tokens":2300,"cache_creation_input_tokens":900}', 'a2'
    UNION ALL SELECT 3, 'assistant', 'Rounded; the tests pass.', NULL, '2026-11-23T09:00:25Z', 'claude-sonnet-4-5',
        '{"input_tokens":25,"output_tokens":40}', 'a8') m;
INSERT INTO tool_calls (message_id, session_id, tool_name, category, tool_use_id, input_json, call_index, result_content)
VALUES
(101, 'pi:0199aaaa-0000-7000-8000-000000000001', 'edit', 'Edit', 'p1',
    '{"path":"src/cart.py","oldText":"a\nb\n","newText":"a\nc\nd\n"}', 0, 'Successfully replaced text.'),
(101, 'pi:0199aaaa-0000-7000-8000-000000000001', 'bash', 'Bash', 'p2', '{"command":"pytest -q"}', 1,
    '1 failed

Command exited with code 1');
INSERT INTO messages (id, session_id, ordinal, role, content, timestamp, is_system, model, source_subtype, source_uuid)
VALUES
(204, 'pi:0199aaaa-0000-7000-8000-000000000002', 4, 'user', 'Write a docstring for total.', '2026-11-23T10:00:00Z', 0, '',
    '', 'c1'),
(205, 'pi:0199aaaa-0000-7000-8000-000000000002', 5, 'user', 'stopped', '2026-11-23T10:00:04Z', 1, '', 'interrupted', 'c2'),
(300, 'cursor:33334444-0000-4000-8000-0000000000cc', 0, 'user', 'Add a --json flag', NULL, 0, '', '', ''),
(301, 'cursor:33334444-0000-4000-8000-0000000000cc', 1, 'assistant', '[Tool: StrReplace]', NULL, 0, '', '', ''),
(302, 'cursor:33334444-0000-4000-8000-0000000000cc', 2, 'assistant', 'It is there.', NULL, 0, '', '', ''),
(400, 'opencode:ses_one', 0, 'user', 'Rename it', '2026-11-23T12:00:00Z', 0, '', '', 'msg_1'),
(401, 'opencode:ses_one', 1, 'assistant', '', '2026-11-23T12:00:12Z', 0, 'gpt-5', '', 'msg_2'),
(500, 'opencode:ses_sub', 0, 'user', 'Look for docs', '2026-11-23T12:00:17Z', 0, '', '', 'msg_3'),
(501, 'opencode:ses_sub', 1, 'assistant', 'none', '2026-11-23T12:00:19Z', 0, 'gpt-5', '', 'msg_4'),
(600, 'goose:20261123_1', 0, 'user', 'Add /healthz', '2026-11-23T13:00:00Z', 0, '', '', ''),
(601, 'goose:20261123_1', 1, 'assistant', 'It is there.', '2026-11-23T13:00:09Z', 0, 'gpt-5', '', ''),
(700, 'goose:20261123_2', 0, 'user', 'Nightly report', '2026-11-23T14:00:00Z', 0, '', '', ''),
(701, 'goose:20261123_2', 1, 'assistant', 'Done.', '2026-11-23T14:00:09Z', 0, 'gpt-5', '', ''),
(800, 'stem', 0, 'user', 'Fix the login', '2026-11-23T15:00:05Z', 0, '', '', 'u1'),
(801, 'stem', 1, 'assistant', 'Fixed.', '2026-11-23T15:00:09Z', 0, 'claude-sonnet-4-5', '', 'u2');
UPDATE messages SET claude_message_id = 'msg_01', claude_request_id = 'req_01', token_usage = '{"input_tokens":7}'
    WHERE id = 801;
UPDATE messages SET token_usage = '{"input_tokens":300,"output_tokens":40}' WHERE id IN (401, 501);
INSERT INTO tool_calls (message_id, session_id, tool_name, category, tool_use_id, input_json, call_index) VALUES
(301, 'cursor:33334444-0000-4000-8000-0000000000cc', 'StrReplace', 'Edit', NULL,
    '{"path":"/home/dev/shop/a.py","old_string":"x","new_string":"y\nz"}', 0),
(401, 'opencode:ses_one', 'bash', 'Bash', 'o1', '{"command":"pytest -q"}', 0),
(401, 'opencode:ses_one', 'SomeEditor', 'Edit', 'o2', '{"filePath":"src/a.py"}', 1),
(401, 'opencode:ses_one', 'edit', 'Edit', 'o3', '{"filePath":"src/b.py"}', 2),
(801, 'stem', 'Bash', 'Bash', 't1', '{"command":"ls"}', 0),
(801, 'stem', 'Bash', 'Bash', 't2', '{"command":"rm -r x"}', 1);
INSERT INTO tool_result_events (session_id, tool_call_message_ordinal, call_index, status, content, timestamp, event_index)
VALUES
('opencode:ses_one', 1, 0, 'started', '', '2026-11-23T12:00:13Z', 0),
('opencode:ses_one', 1, 0, 'completed', '', '2026-11-23T12:00:16Z', 1),
('opencode:ses_one', 1, 1, 'completed', '', '2026-11-23T12:00:17Z', 0),
('opencode:ses_one', 1, 2, 'errored', 'no such text', '2026-11-23T12:00:18Z', 0),
('stem', 1, 0, '', 'a.py', '2026-11-23T15:00:08Z', 0),
('stem', 1, 1, 'errored', 'The user doesn''t want to proceed with this tool use.', '2026-11-23T15:00:08Z', 0);
INSERT INTO usage_events (session_id, model, input_tokens, output_tokens, cost_microdollars, occurred_at, dedup_key)
VALUES ('goose:20261123_1', 'gpt-5', 8800, 300, 14000, '2026-11-23T13:00:30Z', 'goose:20261123_1|aggregate');
