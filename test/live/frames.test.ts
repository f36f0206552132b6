// The text of frames and heartbeats, as clients parse it.
import { describe, expect, it } from 'vitest';
import { heartbeat } from '../../src/live/event-stream.ts';
import { changesFrame, currentFrame, endFrame, formatFrame, Frames, resyncFrame } from '../../src/live/frames.ts';

describe('frames', () => {
  it('have an id only where a client may resume', () => {
    expect(formatFrame(changesFrame(7, '{"id":"a"}'))).toBe('id: 7\nevent: changes\ndata: {"data":[{"id":"a"}]}\n\n');
    expect(formatFrame(changesFrame(undefined, ''))).toBe('event: changes\ndata: {"data":[]}\n\n');
    expect(formatFrame(currentFrame(8))).toBe('id: 8\nevent: current\ndata: {}\n\n');
    expect(formatFrame(resyncFrame('access'))).toBe('event: resync\ndata: {"reason":"access"}\n\n');
    expect(formatFrame(endFrame('{"code":403}', false))).toBe('event: end\ndata: {"code":403}\n\n');
    expect(formatFrame(endFrame('{"code":503}', true))).toMatch(
      /^retry: [1-5]\d{3}\nevent: end\ndata: \{"code":503\}\n\n$/,
    );
  });

  it('are joined without anything between them', () => {
    expect(new Frames([resyncFrame('flushed'), currentFrame(1)]).bytes.toString()).toBe(
      'event: resync\ndata: {"reason":"flushed"}\n\nid: 1\nevent: current\ndata: {}\n\n',
    );
  });

  it('heartbeats are comments', () => {
    expect(heartbeat.toString()).toBe(':\n\n');
  });
});
