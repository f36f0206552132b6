// Several processes behind one port: they are exchanged, die and stop without users noticing.
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { basic, run, workingFolder, type LogLine } from '../cli/process.ts';
import { EventClient } from '../live/event-client.ts';
import { startTraffic } from './traffic.ts';
import { inExtent } from '../support/extent.ts';
import { backends, listening, open, pidsOf, startWorkers } from './start-workers.ts';

const authorization = basic('alice');

async function createList(url: string): Promise<void> {
  for (const path of ['buckets/traffic', 'buckets/traffic/collections/list']) {
    const { status } = await fetch(url + path, { method: 'PUT', headers: { authorization } });
    expect(status).toBe(201);
  }
}

describe('coffer start --workers', () => {
  test.each(backends)('on %s serves from as many processes, and ends with 0 on a stop signal.', async (backend) => {
    const service = await startWorkers(3, {}, backend);
    expect(pidsOf(listening(service)).size).toBe(3);
    expect(new Set(listening(service).map(({ Fields }) => Fields?.['url']))).toEqual(new Set([service.url]));
    expect(pidsOf(listening(service))).not.toContain(service.pid);
    await createList(service.url);
    service.kill('SIGTERM');
    expect(await service.ended).toBe(0);
    expect(service.log.filter(({ Type }) => Type === 'Stopped')).toHaveLength(3);
  });

  test('with the host localhost listens on both loopback addresses, at one random port for all workers.', async () => {
    const service = await startWorkers(2, { host: 'localhost' });
    expect(new Set(listening(service).map(({ Fields }) => Fields?.['url']))).toEqual(new Set([service.url]));
    for (const host of ['127.0.0.1', '[::1]']) {
      for (let n = 0; n < 4; n++) {
        const response = await fetch(`http://${host}:${service.port}/v1/`, { headers: { connection: 'close' } });
        expect(response.status).toBe(200);
      }
    }
    const served = service.log.filter(({ Type }) => Type === 'request.summary');
    expect(pidsOf(served).size).toBe(2);
    service.kill('SIGTERM');
    expect(await service.ended).toBe(0);
  });

  test.each(backends)(
    'on %s exchanges all workers under load, again and again, and no client notices.',
    { timeout: 120_000 },
    async (backend) => {
      const service = await startWorkers(2, {}, backend);
      await createList(service.url);
      const traffic = startTraffic(service.url, authorization, { kept: 6, short: 4 });
      const seen = new Set(pidsOf(listening(service)));
      for (const signal of inExtent<readonly NodeJS.Signals[]>(
        ['SIGHUP', 'SIGUSR2'],
        ['SIGHUP', 'SIGUSR2', 'SIGHUP'],
      )) {
        const restarted = service.loggedNext('Restarted workers');
        service.kill(signal);
        await restarted;
        await service.loggedCount('Listening', seen.size + 2);
        const fresh = listening(service).slice(-2);
        for (const { Pid } of fresh) {
          expect(seen).not.toContain(Pid);
          seen.add(Pid);
        }
      }
      await traffic.stop();
      expect(traffic.failures).toEqual([]);
      expect([...traffic.statuses.keys()].filter((status) => status >= 300)).toEqual([]);
      // Busy connections are closed with a response. A connection that is closed during a new request is a coincidence.
      expect(traffic.reusesThatFailed).toBeLessThan(3);
      expect(service.log.filter(({ Severity }) => Severity < 6)).toEqual([]);
      service.kill('SIGTERM');
      expect(await service.ended).toBe(0);
    },
  );

  test('tells clients with an idle connection by an answer that it ends, before closing it.', async () => {
    const service = await startWorkers(2);
    const sockets = await Promise.all(Array.from({ length: 4 }, () => open(service.port)));
    const get = async (socket: Socket): Promise<string> => {
      socket.write('GET /v1/__lbheartbeat__ HTTP/1.1\r\nHost: x\r\n\r\n');
      return String((await once(socket, 'data'))[0]);
    };
    for (const socket of sockets) expect(await get(socket)).toContain('Connection: keep-alive');
    const restarted = service.loggedNext('Restarted workers');
    service.kill('SIGHUP');
    await service.logged('Stopping');
    const answers = await Promise.all(sockets.map(get));
    expect(answers.filter((answer) => answer.includes('200 OK'))).toHaveLength(4);
    // The other worker's turn has not come yet, as a rule.
    expect(answers.filter((answer) => /connection: close/i.test(answer))).not.toEqual([]);
    await restarted;
    service.kill('SIGTERM');
    expect(await service.ended).toBe(0);
  });

  test.each(backends)(
    'on %s finishes requests in progress under load after a stop signal.',
    { timeout: 120_000 },
    async (backend) => {
      const service = await startWorkers(2, {}, backend);
      await createList(service.url);
      const traffic = startTraffic(service.url, authorization, { kept: 4, short: 0 });
      while ([...traffic.statuses.values()].reduce((sum, n) => sum + n, 0) < 50) await new Promise(setImmediate);
      service.kill('SIGTERM');
      expect(await service.ended).toBe(0);
      await traffic.stop();
      expect([...traffic.statuses.keys()].filter((status) => status >= 300)).toEqual([]);
      // Without a listener, new connections are refused, or closed if they arrive at that moment. Nothing else may happen.
      const isRefused = (failure: string): boolean => /ECONNREFUSED|ECONNRESET|EPIPE|socket hang up/.test(failure);
      expect(traffic.failures.filter((failure) => !isRefused(failure))).toEqual([]);
      // So what a worker has taken in was answered, and the answer arrived.
      const isTraffic = ({ Type, Fields }: LogLine): boolean =>
        Type === 'request.summary' && String(Fields?.['path']).includes('/list/records');
      const arrived = [...traffic.statuses.values()].reduce((sum, n) => sum + n, 0);
      expect(service.log.filter(isTraffic)).toHaveLength(arrived);
    },
  );

  test.each(backends)(
    'on %s ends streams and polls in time, and their clients go on without a loss.',
    async (backend) => {
      const service = await startWorkers(2, {}, backend);
      await createList(service.url);
      const path = '/v1/buckets/traffic/collections/list/records';
      const { origin } = new URL(service.url);
      const put = async (id: string): Promise<void> => {
        const { status } = await fetch(`${origin}${path}/${id}`, { method: 'PUT', headers: { authorization } });
        expect(status).toBe(201);
      };
      const follow = async (id = ''): Promise<EventClient> => {
        const client = await EventClient.open(origin, `${path}?_live=sse&_since=0`, {
          headers: { authorization, connection: 'close', ...(id === '' ? {} : { 'last-event-id': id }) },
        });
        onTestFinished(() => client.close());
        return client;
      };
      /** Follows the list until its end, and again, until the record has arrived. Returns the ids of all records received. */
      const read = async (until: string): Promise<readonly string[]> => {
        const seen: string[] = [];
        let place = '';
        for (;;) {
          const client = await follow(place);
          // These clients come back at once, and may meet a worker that stops.
          if (client.status === 503) continue;
          for (;;) {
            const event = await client.nextOrEnd();
            if (event === undefined) break;
            place = event.id ?? place;
            if (event.event === 'end') {
              expect(event.data).toMatchObject({ code: 503, errno: 201 });
              expect(Number(event.retry)).toBeGreaterThanOrEqual(1000);
            }
            seen.push(...((event.data.data as { id: string }[] | undefined) ?? []).map(({ id }) => id));
            if (seen.includes(until)) return seen;
          }
        }
      };
      const poll = async (): Promise<readonly string[]> => {
        for (let etag = '0'; ;) {
          const query = `_live=poll&_wait=60&_since=${etag}&_gone=true`;
          const response = await fetch(`${origin}${path}?${query}`, {
            headers: { authorization, connection: 'close' },
          });
          if (response.status === 503) continue;
          expect(response.status).toBe(200);
          const { data } = (await response.json()) as { data: { id: string }[] };
          polled.push(...data.toReversed().map(({ id }) => id));
          etag = response.headers.get('etag')!;
          if (polled.includes('last')) return polled;
        }
      };
      const polled: string[] = [];
      await put('first');
      const readers = Promise.all([...Array.from({ length: 8 }, () => read('last')), poll()]);
      const clients = await Promise.all(Array.from({ length: 4 }, () => follow()));
      await Promise.all(clients.map((client) => client.until('current')));
      const restarted = service.loggedNext('Restarted workers');
      service.kill('SIGHUP');
      // What is stored while the streams end is not lost.
      const written = ['first'];
      for (const client of clients) {
        await client.until('end');
        written.push(`r${written.length}`);
        await put(written.at(-1)!);
      }
      await restarted;
      await put('last');
      for (const seen of await readers) expect(seen).toEqual([...written, 'last']);
      await (await follow()).until('current');
      service.kill('SIGTERM');
      expect(await service.ended).toBe(0);
      expect(service.log.filter(({ Severity }) => Severity < 6)).toEqual([]);
    },
  );

  test('reads the configuration anew when workers are exchanged, their number as well.', async () => {
    const service = await startWorkers(2);
    const batchSize = async (): Promise<unknown> => {
      const root = (await (await fetch(service.url, { headers: { connection: 'close' } })).json()) as Root;
      return root.settings.batch_max_requests;
    };
    expect(await batchSize()).toBe(25);
    service.configure({ batch_max_requests: '7', workers: '3' });
    const restarted = service.loggedNext('Restarted workers');
    service.kill('SIGHUP');
    await restarted;
    for (let n = 0; n < 6; n++) expect(await batchSize()).toBe(7);
    await service.loggedCount('Listening', 5);
    service.kill('SIGTERM');
    expect(await service.ended).toBe(0);
    expect(service.log.filter(({ Type }) => Type === 'Stopped')).toHaveLength(5);
  });

  test('keeps its workers when the new configuration is wrong.', async () => {
    const service = await startWorkers(2);
    service.configure({ paginate_by: 'many' });
    service.kill('SIGHUP');
    const { Fields } = await service.logged('Restart cancelled: the settings are wrong');
    expect(Fields?.['reason']).toContain('paginate_by');
    service.configure({ storage_url: 'postgresql://nobody@127.0.0.1:1/nothing', startup_timeout_seconds: '0' });
    service.kill('SIGHUP');
    await service.logged('Restart aborted: a new worker did not start');
    expect((await fetch(service.url)).status).toBe(200);
    service.kill('SIGTERM');
    expect(await service.ended).toBe(0);
  });

  test('replaces a worker that received a stop signal from another process, after it finished.', async () => {
    const service = await startWorkers(2);
    process.kill(listening(service)[0]!.Pid, 'SIGTERM');
    await service.loggedCount('Listening', 3);
    await service.loggedCount('Stopped', 1);
    expect(service.log.filter(({ Type }) => Type === 'Stopped')).toHaveLength(1);
    service.kill('SIGINT');
    expect(await service.ended).toBe(0);
  });

  test('ends its workers when it is killed itself.', async () => {
    const service = await startWorkers(2);
    service.kill('SIGKILL');
    // The output is closed when the last process that holds it has ended.
    expect(await service.ended).toBe(null);
    await expect(fetch(service.url)).rejects.toThrow('fetch failed');
  });

  test('ends at once, with 1, on a second stop signal.', async () => {
    const service = await startWorkers(2);
    const socket = await open(service.port);
    socket.write('POST /v1/buckets HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n');
    await once(socket, 'data');
    service.kill('SIGTERM');
    await service.logged('Stopping');
    service.kill('SIGTERM');
    expect(await service.ended).toBe(1);
  });

  test('cuts requests off, and ends with 1, when they take longer than shutdown_timeout_seconds.', async () => {
    const service = await startWorkers(2, { shutdown_timeout_seconds: '50ms' });
    const socket = await open(service.port);
    socket.write('POST /v1/buckets HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n');
    await once(socket, 'data');
    service.kill('SIGTERM');
    expect(await service.ended).toBe(1);
    expect(service.log.some(({ Type }) => Type.startsWith('Requests in flight were aborted'))).toBe(true);
  });

  test('ends with 1, and says why once, when workers cannot start.', async () => {
    const service = await startWorkers(2);
    const { code, err } = await run(['start', '--config', 'coffer.ini', '--port', String(service.port)], service);
    expect(code).toBe(1);
    expect(err).toBe(
      `coffer: port ${service.port} of 127.0.0.1 is in use; choose another one with --port, or stop the program that uses it\n`,
    );
  });

  test('refuses backends that several processes cannot share, and says why.', async () => {
    const place = { cwd: workingFolder() };
    const profile = await run(['start', '--workers', '2'], place);
    expect(profile.code).toBe(1);
    expect(profile.err).toContain('workers = "2": must be 1 with storage_backend = sqlite: a file has one writer');
    expect(profile.err).toContain(
      'workers = "2": must be 1 with cache_backend = memory: each process would have its own data',
    );
    writeFileSync(join(place.cwd, 'memory.ini'), 'security_state_backend = memory\n');
    const memory = await run(['start', '--config', 'memory.ini', '--workers', 'auto'], place);
    expect(memory.code).toBe(1);
    expect(memory.err).toContain('workers = "auto": must be 1 with storage_backend = memory');
    expect(memory.err).toContain('workers = "auto": must be 1 with security_state_backend = memory');
    const wrong = await run(['start', '--workers', 'some'], place);
    expect(wrong.code).toBe(1);
    expect(wrong.err).toContain('a whole number from 1 to 1024, or auto');
  });
});

interface Root {
  readonly settings: { readonly batch_max_requests: number };
}
