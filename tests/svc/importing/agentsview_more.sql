-- Further sessions, for single tests.
-- [told]
INSERT INTO sessions (id, project, machine, agent, started_at) VALUES
('copilot:c8', 'shop', 'm1', 'copilot', '2026-03-02T10:00:00Z'), ('gemini:g1', 'shop', 'm1', 'gemini', NULL),
('11111111-2222-4333-8444-555555555555', 'shop', 'm1', 'claude', '2026-03-02T10:00:00Z'), ('aider:r1', 'shop', 'm1', 'aider', NULL),
('visualstudio-copilot:4a8f', 'shop', 'm1', 'visualstudio-copilot', '2026-03-02T10:00:00Z');
INSERT INTO messages (id, session_id, ordinal, role, content, timestamp, token_usage, source_uuid) VALUES
(920, 'copilot:c8', 0, 'user', 'delegate it', '2026-03-02T10:00:10Z', '', ''),
(921, 'copilot:c8', 1, 'assistant', '[Task: task]', '2026-03-02T10:00:13Z', '', ''),
(922, 'copilot:c8', 2, 'user', 'Look around.', '2026-03-02T10:00:14Z', '', ''),
(930, 'gemini:g1', 0, 'user', 'go', '2026-03-02T10:00:10Z', '', ''),
(931, 'gemini:g1', 1, 'assistant', 'Gone.', '2026-03-02T10:00:13Z',
    '{"input_tokens":1,"cache_read_input_tokens":900,"output_tokens":50}', ''),
(932, 'gemini:g1', 2, 'assistant', 'Cut.', '2026-03-02T10:00:13Z', '{"input_tokens":0,"output_tokens":0}', ''),
(940, '11111111-2222-4333-8444-555555555555', 0, 'user', 'go', '2026-03-02T10:00:00Z', '', 'u1'),
(960, 'visualstudio-copilot:4a8f', 0, 'assistant', '[Bash: run_build]', '2026-03-02T10:00:10Z', '', ''),
(941, '11111111-2222-4333-8444-555555555555', 1, 'user', 'and a test', '2026-03-02T10:00:08Z', '', '');
INSERT INTO messages (id, session_id, ordinal, role, content, source_subtype) VALUES
(950, 'aider:r1', 0, 'assistant', 'Aider v0.86.1', 'tool_result'), (951, 'aider:r1', 1, 'user', 'add a flag', ''),
(952, 'aider:r1', 2, 'assistant', 'It is there.', ''),
(953, 'aider:r1', 3, 'assistant', 'Tokens: 4.3k sent, 350 received.', 'tool_result');
INSERT INTO tool_calls (message_id, session_id, tool_name, category, tool_use_id, input_json, call_index) VALUES
(921, 'copilot:c8', 'task', 'Task', 'k1', '{"prompt":"Look around.","agent_type":"explore"}', 0);
-- [copilot]
INSERT INTO sessions (id, project, machine, agent, started_at) VALUES ('copilot:c9', 'shop', 'm1', 'copilot',
    '2026-03-02T10:00:00Z');
INSERT INTO messages (id, session_id, ordinal, role, content, timestamp) VALUES
(910, 'copilot:c9', 0, 'user', 'run the check', '2026-03-02T10:00:10Z'),
(911, 'copilot:c9', 1, 'assistant', '[Bash]', '2026-03-02T10:00:13Z');
INSERT INTO tool_calls (message_id, session_id, tool_name, category, tool_use_id, result_content, call_index) VALUES
(911, 'copilot:c9', 'bash', 'Bash', 'k1', '{"content":"1 failed\n<shellId: 0 completed with exit code 1>"}', 0);
INSERT INTO usage_events (session_id, source, model, input_tokens, occurred_at, dedup_key) VALUES
('copilot:c9', 'shutdown', 'gpt-5', 1001, '2026-03-02T10:00:14Z', 'shutdown:c9:0'),
('copilot:c9', 'shutdown', 'gpt-4', 0, '2026-03-02T10:00:14Z', 'shutdown:c9:0:mini');
-- [copilot goes on]
UPDATE sessions SET transcript_revision = '2' WHERE agent = 'copilot';
INSERT INTO messages (id, session_id, ordinal, role, content, timestamp) VALUES
(912, 'copilot:c9', 2, 'user', 'again', '2026-03-02T10:10:10Z'),
(913, 'copilot:c9', 3, 'assistant', 'It fails.', '2026-03-02T10:10:13Z');
INSERT INTO usage_events (session_id, source, model, input_tokens, occurred_at, dedup_key) VALUES
('copilot:c9', 'shutdown', 'gpt-5', 2003, '2026-03-02T10:10:14Z', 'shutdown:c9:1');
-- [codex]
INSERT INTO sessions (id, project, machine, agent, started_at) VALUES ('codex:019aad50-a7e6-7422-b7a8-0b384290624f', 'shop', 'm1', 'codex',
    '2026-03-02T10:00:00Z');
INSERT INTO messages (id, session_id, ordinal, role, content, timestamp, model, token_usage) VALUES
(900, 'codex:019aad50-a7e6-7422-b7a8-0b384290624f', 0, 'user', 'fix the login', '2026-03-02T10:00:10Z', '', ''),
(901, 'codex:019aad50-a7e6-7422-b7a8-0b384290624f', 1, 'assistant', '[Bash]', '2026-03-02T10:00:13Z', 'gpt-5', '{"input_tokens":400}'),
(902, 'codex:019aad50-a7e6-7422-b7a8-0b384290624f', 2, 'assistant', 'Half.', '2026-03-02T10:00:15Z', 'gpt-5', ''),
(903, 'codex:019aad50-a7e6-7422-b7a8-0b384290624f', 3, 'assistant', 'Fixed 1.', '2026-03-02T10:00:16Z', 'gpt-5', '{"input_tokens":400}');
INSERT INTO tool_calls (message_id, session_id, tool_name, category, tool_use_id, input_json, call_index) VALUES
(901, 'codex:019aad50-a7e6-7422-b7a8-0b384290624f', 'exec_command', 'Bash', 'call_p1', '{"cmd":["apply_patch","PATCH"]}', 0),
(901, 'codex:019aad50-a7e6-7422-b7a8-0b384290624f', 'exec_command', 'Bash', 'call_s1', '{"cmd":"pytest -q"}', 1);
