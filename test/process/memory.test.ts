// What a few requests can do to a process with a heap of 256 MB (S32): bodies that take many times their size, batches that
// multiply their defaults, readers who do not read. It lives, serves others, and gives the memory back.
//
// COFFER_MEMORY_SCALE=5 takes lists of 125 MB; COFFER_MEMORY_HEAP=0 the heap that Node.js takes by itself, and prints the peak.
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { backends } from '../support/server-process.ts';
import {
  attack as attackAllowing,
  fill,
  inflatedBatch,
  largeBodies,
  list,
  megabyte,
  readCurrent,
  users,
  Victim,
  visitDuring,
  type Answer,
} from './memory-attacks.ts';
import { inExtent } from '../support/extent.ts';

const scale = Number(process.env['COFFER_MEMORY_SCALE'] ?? 1);
const heapMegabytes = Number(process.env['COFFER_MEMORY_HEAP'] ?? 256);
/** 400: a page that ends at a large object, which a token cannot hold, or with more memory, a body with too many values. */
const allowed = [200, 201, 400, 413, 503];
const listMegabytes = 25 * scale;
const readers = 25;
const manyReaders = inExtent(30, 60);
const followers = 60;
const bodies = largeBodies(9.9 * megabyte);
const [, , keys = '', plain = ''] = bodies;
/** As large, with as many values as a body may have. */
const stored = JSON.stringify({
  data: Object.fromEntries(Array.from({ length: 98_000 }, (_, n) => [`k${n}`, 'x'.repeat(80)])),
});
/** A record with one attribute that takes long to compare. */
const nested = JSON.stringify({
  data: { f: Object.fromEntries(Array.from({ length: 45_000 }, (_, n) => [`key${n}`, n])) },
});

describe.each(inExtent(['sqlite'], backends))(
  'a process with a small heap on %s',
  { timeout: 120_000 * scale },
  (backend) => {
    let victim: Victim;
    let idleBytes = 0;

    const attack = (requests: readonly Promise<Answer>[]): Promise<readonly Answer[]> =>
      attackAllowing(victim, requests, allowed);

    function statuses(answers: readonly Answer[]): ReadonlySet<number> {
      return new Set(answers.map(({ status }) => status));
    }

    beforeAll(async () => {
      victim = await Victim.start(backend, heapMegabytes === 0 ? undefined : heapMegabytes);
      // Everything is loaded and compiled before the measurement, and the buffers of drivers, which never shrink, are as long
      // as they get.
      await attack([
        victim.send('owner', 'PUT', `${list}/first`, plain),
        victim.send('owner', 'POST', '/batch', inflatedBatch(10_000)),
      ]);
      await attack([victim.send('owner', 'GET', list)]);
      await victim.send('owner', 'DELETE', list);
      idleBytes = await victim.usedBytes();
    }, 60_000);
    afterAll(async () => {
      const status = await readFile(`/proc/${victim.pid}/status`, 'utf8');
      if (heapMegabytes !== 256 || scale !== 1) console.log(backend, /VmHWM:.*/.exec(status)?.[0]);
      await victim.stop();
    });

    it('survives the largest bodies at once, whatever their shape, and serves the plain ones', async () => {
      await attack(bodies.map((body, n) => victim.send('user0', 'PUT', `${list}/a${n}`, body)));
      const answers = await attack(
        users.slice(0, 4).map((user) => victim.send(user, 'PUT', `${list}/plain-${user}`, plain)),
      );
      expect(statuses(answers).has(201)).toBe(true);
      await victim.send('owner', 'DELETE', list);
    });

    it('refuses batches whose defaults grow beyond the limit, and survives those that stay below it', async () => {
      const grown = await attack(users.map((user) => victim.send(user, 'POST', '/batch', inflatedBatch(5 * megabyte))));
      expect([...statuses(grown)].filter((status) => status !== 413 && status !== 503)).toEqual([]);
      const fitting = inflatedBatch(0.5 * megabyte);
      const answers = await attack(users.map((user) => victim.send(user, 'POST', '/batch', fitting)));
      expect(statuses(answers).has(200)).toBe(true);
      await victim.send('owner', 'DELETE', list);
    });

    it('survives small requests about large objects', async () => {
      const ids = users.map((user) => `stored-${user}`);
      for (const id of ids) expect((await victim.send('owner', 'PUT', `${list}/${id}`, stored)).status).toBe(201);
      const change = '{"data":{"changed":1}}';
      const changes = await attack(ids.map((id, n) => victim.send(users[n]!, 'PATCH', `${list}/${id}`, change)));
      expect(statuses(changes).has(200)).toBe(true);
      await attack(ids.map((id, n) => victim.send(users[n]!, 'PUT', `${list}/${id}`, '{"permissions":{}}')));
      await attack(ids.map((id, n) => victim.send(users[n]!, 'GET', `${list}/${id}?_fields=changed`)));
      await attack(users.map((user) => victim.send(user, 'GET', `${list}?_sort=changed&_fields=changed`)));
      await victim.send('owner', 'DELETE', list);
    });

    // Takes a minute, so only the complete run has it.
    it.each(inExtent([], ['f', '-f']))('survives sorts by large objects (%s)', async (sort) => {
      for (let n = 0; n < 30; n++)
        expect((await victim.send('owner', 'PUT', `${list}/r${n}`, nested)).status).toBe(201);
      await attack(users.map((user) => victim.send(user, 'GET', `${list}?_sort=${sort}&_limit=30`)));
      await victim.send('owner', 'DELETE', list);
    });

    it('holds little for readers who do not read, and lets others read the list page by page', async () => {
      await fill(victim, listMegabytes);
      const before = await victim.usedBytes();
      const opened = Promise.all(Array.from({ length: readers }, (_, n) => victim.readStart(users[n % 8], list)));
      await visitDuring(victim, opened);
      const started = await opened;
      for (const { status } of started) expect([200, 503]).toContain(status);
      // Five eighths of the budget, which is half of the heap at most, and what one answer takes while it is built.
      expect((await victim.usedBytes()) - before).toBeLessThan(200 * megabyte);
      for (const { socket } of started) socket.destroy();
      let [path, bytes]: [string | undefined, number] = [list, 0];
      while (path !== undefined) {
        const page = await victim.send('owner', 'GET', path);
        expect(page.status).toBe(200);
        bytes += page.bytes;
        const next = page.headers['next-page'];
        path = typeof next === 'string' ? next.slice(next.indexOf('/v1') + 3) : undefined;
      }
      expect(bytes).toBeGreaterThan(listMegabytes * megabyte);
    });

    it('survives readers who arrive together, of a list whose size is not known yet', async () => {
      await fill(victim, listMegabytes);
      // Another spelling is another address to what remembers sizes.
      const respelt = list.replace('large', '%6Carge');
      const opened = Promise.all(
        Array.from({ length: manyReaders }, (_, n) => victim.readStart(users[n % 8], `${respelt}?_limit=1000`)),
      );
      await visitDuring(victim, opened);
      for (const { status, socket } of await opened) {
        expect([200, 503]).toContain(status);
        socket.destroy();
      }
      await victim.send('owner', 'DELETE', list);
    });

    it('holds little for followers who do not read, and serves those who do once memory is free', async () => {
      const published = '/buckets/b/collections/published';
      await victim.send('owner', 'PUT', published, '{"permissions":{"read":["system.Everyone"]}}');
      await victim.send('owner', 'PUT', `${published}/records/long`, plain);
      const before = await victim.usedBytes();
      const path = `${published}/records?_live=sse&_since=0`;
      const opened = Promise.all(
        // Each filter is a text of its own.
        Array.from({ length: followers }, (_, n) => victim.readStart(undefined, `${path}&not_b=${n}`)),
      );
      await visitDuring(victim, opened);
      const sockets = (await opened).map(({ socket }) => socket);
      // Pages are read in the order in which the streams have asked for them.
      const reader = await victim.readStart('reader', path);
      expect(await readCurrent(reader.socket)).toBeGreaterThan(9 * megabyte);
      // A quarter of the memory for all work is for one caller. The heap may hold what was read last.
      expect((await victim.usedBytes()) - before).toBeLessThan(70 * megabyte);
      const last = sockets.pop()!;
      const read = readCurrent(last);
      for (const socket of sockets) socket.destroy();
      expect(await read).toBeGreaterThan(9 * megabyte);
      await victim.send('owner', 'DELETE', published);
    });

    it('survives all of it at once, from several users', async () => {
      const batch = inflatedBatch(0.5 * megabyte);
      await attack(
        users.flatMap((user) => [
          victim.send(user, 'PUT', `${list}/keys-${user}`, keys),
          victim.send(user, 'PUT', `${list}/text-${user}`, plain),
          victim.send(user, 'POST', '/batch', batch),
          victim.send(user, 'GET', list),
        ]),
      );
    });

    it('deletes a list that is longer than its heap may hold', async () => {
      const { status } = await victim.send('owner', 'DELETE', list);
      expect(status).toBe(200);
    });

    it('has given everything back', async () => {
      expect(await victim.usedBytes()).toBeLessThan(idleBytes * 1.2);
      // Nothing is reserved any more: the largest body needs nearly all there is.
      for (const user of users.slice(0, 2)) {
        expect((await victim.send(user, 'PUT', `${list}/again`, plain)).status).toBeLessThan(300);
      }
    });
  },
);
