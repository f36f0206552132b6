// Requests for files that wait for a place, and the files that were opened for them.
import fs, { type ReadStream } from 'node:fs';
import { once } from 'node:events';
import { vi } from 'vitest';
import { Downloads } from '../../src/plugins/attachments/downloads.ts';
import { Gate } from './gate.ts';

/** The place of the next request for a file, which it keeps until it is freed. */
export interface HeldPlace {
  /** Resolves when the request has the place. */
  readonly taken: Promise<void>;
  /** Resolves when another request has passed its first check and waits. */
  readonly awaited: Promise<void>;
  readonly free: () => void;
}

export function holdPlace(): HeldPlace {
  const gate = new Gate();
  const waiting = new Gate();
  const { run } = Downloads.prototype;
  let calls = 0;
  vi.spyOn(Downloads.prototype, 'run').mockImplementation(function (this: Downloads, context, open) {
    calls++;
    const isFirst = calls === 1;
    const answer = run.call(
      this,
      context,
      isFirst ? async (...args: Parameters<typeof open>) => gate.pass().then(() => open(...args)) : open,
    );
    if (!isFirst) void waiting.pass();
    return answer;
  });
  return { taken: gate.reached, awaited: waiting.reached, free: gate.open };
}

/**
 * Returns the streams of files of the folder that are opened from now on.
 *
 * @param beforeOpen called between reading the properties of a file and opening it
 */
export function watchFiles(folder: string, beforeOpen?: () => void): ReadStream[] {
  const streams: ReadStream[] = [];
  const open = fs.createReadStream;
  vi.spyOn(fs, 'createReadStream').mockImplementation((path, options) => {
    beforeOpen?.();
    const stream = open(path, options);
    if (String(path).startsWith(folder)) streams.push(stream);
    return stream;
  });
  return streams;
}

/** Waits until all streams are closed. */
export async function allClosed(streams: readonly ReadStream[]): Promise<void> {
  for (const stream of streams) if (!stream.closed) await once(stream, 'close');
}
