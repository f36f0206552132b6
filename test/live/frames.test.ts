// The text of frames and heartbeats, as clients parse it.
import { describe, expect, it } from 'vitest';
import { formatCursor, parseCursor, type Cursor } from '../../src/live/cursor.ts';
import { heartbeat } from '../../src/live/event-stream.ts';
import { changesFrame, currentFrame, endFrame, Frames, resyncFrame, type Frame } from '../../src/live/frames.ts';

const whole = (timestamp: number): Cursor => ({ timestamp, isPart: false });
const text = (frame: Frame): string => new Frames([frame]).bytes.toString();

describe('cursors', () => {
  it('are read as they are written, in every base', () => {
    for (const isPart of [false, true])
      for (const radix of [10, 36]) {
        const cursor = { timestamp: 1_795_251_461_178, isPart };
        expect(parseCursor(formatCursor(cursor, radix), radix)).toEqual(cursor);
      }
  });

  it.each(['', '~', '001', '1~', '-1', '1.5', ' 1', '1e3', '9007199254740993', 'x'])(
    'are no text such as "%s"',
    (each) => {
      expect(parseCursor(each)).toBeUndefined();
    },
  );
});

describe('frames', () => {
  it('have an id only where a client may resume', () => {
    expect(text(changesFrame(whole(7), '{"id":"a"}'))).toBe('id: 7\nevent: changes\ndata: {"data":[{"id":"a"}]}\n\n');
    expect(text(changesFrame(undefined, ''))).toBe('event: changes\ndata: {"data":[]}\n\n');
    expect(text(currentFrame(whole(8)))).toBe('id: 8\nevent: current\ndata: {}\n\n');
    expect(text(resyncFrame('access'))).toBe('event: resync\ndata: {"reason":"access"}\n\n');
    expect(text(endFrame('{"code":403}', false))).toBe('event: end\ndata: {"code":403}\n\n');
    expect(text(endFrame('{"code":503}', true))).toMatch(/^retry: [1-5]\d{3}\nevent: end\ndata: \{"code":503\}\n\n$/);
  });

  it('are joined without anything between them', () => {
    expect(new Frames([resyncFrame('flushed'), currentFrame(whole(1))]).bytes.toString()).toBe(
      'event: resync\ndata: {"reason":"flushed"}\n\nid: 1\nevent: current\ndata: {}\n\n',
    );
  });

  it('have a marked id when the caller sees a part of the list', () => {
    expect(text(currentFrame({ timestamp: 8, isPart: true }))).toBe('id: 08\nevent: current\ndata: {}\n\n');
  });

  it('heartbeats are comments', () => {
    expect(heartbeat.toString()).toBe(':\n\n');
  });
});
