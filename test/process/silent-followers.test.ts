// Followers who have stopped to read, with much and with little that waits for them: their streams end at the maximum age, and
// nothing of them stays.
import { readdir, readlink } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inExtent } from '../support/extent.ts';
import { megabyte, Victim } from './memory-attacks.ts';

const followers = 8;
const [long, short] = ['/buckets/b/collections/long', '/buckets/b/collections/short'];

describe('followers who do not read', () => {
  let victim: Victim;
  beforeAll(async () => {
    victim = await Victim.start('sqlite', 256, {
      SVC_INCLUDES: 'prometheus',
      SVC_LIVE_MAX_SECONDS: '1',
      SVC_LIVE_MAX_STREAMS: String(2 * followers),
      SVC_REQUEST_TIMEOUT_SECONDS: '10',
      SVC_IDLE_TIMEOUT_SECONDS: '2',
    });
    for (const list of [long, short])
      await victim.send('owner', 'PUT', list, '{"permissions":{"read":["system.Everyone"]}}');
    // More than the buffers of the kernel hold: in one frame, and in many that fit into the buffer of a stream.
    await victim.send('owner', 'PUT', `${long}/records/x`, `{"data":{"text":"${'x'.repeat(9 * megabyte)}"}}`);
    const requests = Array.from({ length: 25 }, (_, n) => ({ path: `${short}/records/r${n}` }));
    for (let round = 0; round < 24; round++) {
      const named = requests.map(({ path }) => ({ path: `${path}-${round}` }));
      const defaults = { method: 'PUT', body: { data: { text: 'x'.repeat(10_000) } } };
      expect((await victim.send('owner', 'POST', '/batch', JSON.stringify({ defaults, requests: named }))).status).toBe(
        200,
      );
    }
  }, 180_000);
  afterAll(() => victim.stop());

  /** Open files without those of the database, which opens connections for long reads when they are needed. */
  const openFiles = async (): Promise<number> => {
    const folder = `/proc/${victim.pid}/fd`;
    const files = await Promise.all(
      (await readdir(folder)).map((name) => readlink(`${folder}/${name}`).catch(() => '')),
    );
    return files.filter((file) => file !== '' && !file.includes('.sqlite')).length;
  };
  const openStreams = async (): Promise<number> =>
    Number(/live_streams\{transport="sse"\} (\d+)/.exec(await victim.text('/__metrics__'))?.[1] ?? 0);

  it('end, and leave no places, no open files and no memory behind', { timeout: 180_000 }, async () => {
    const before = { files: await openFiles(), bytes: await victim.usedBytes() };
    // The places of the first round are needed for the second. A round takes 20 seconds, so the short run has one.
    for (let round = 0; round < inExtent(1, 2); round++) {
      const sockets = await Promise.all(
        [long, short].flatMap((list) =>
          Array.from({ length: followers }, (_, n) =>
            victim.readStart(undefined, `${list}/records?_live=sse&_since=0&not_n=${n}`),
          ),
        ),
      );
      expect(sockets.map(({ status }) => status)).toEqual(Array.from({ length: 2 * followers }, () => 200));
      expect((await victim.usedBytes()) - before.bytes).toBeLessThan(60 * megabyte);
      await expect.poll(openStreams, { timeout: 60_000 }).toBe(0);
      await expect.poll(openFiles, { timeout: 60_000 }).toBeLessThanOrEqual(before.files + 1);
      for (const { socket } of sockets) socket.destroy();
    }
    await expect
      .poll(async () => (await victim.usedBytes()) - before.bytes, { timeout: 60_000 })
      .toBeLessThan(10 * megabyte);
  });
});
