// Writes over large objects: the text that is replaced is read only if something needs it, and then it is the right one.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/base/json.ts';
import type { Change } from '../../src/engine/events/event.ts';
import type { Subscriber } from '../../src/engine/events/subscriber.ts';
import { definePlugin } from '../../src/http/plugin.ts';
import type { TestClient, TestService } from '../../src/testing/index.ts';
import { forEachBackend } from '../support/backends.ts';

const list = '/buckets/b/collections/c/records';
/** Text long enough to be left in the database. */
const textOf = (mark: string): string => mark.repeat(300_000);
const put = (id: string, mark: string, more: JsonObject = {}): JsonObject => {
  return { method: 'PUT', path: `${list}/${id}`, body: { data: { text: textOf(mark) } }, ...more };
};
const short = (text: unknown): unknown => (typeof text === 'string' ? text.slice(0, 1) + text.length : text);

interface Answered {
  readonly status: number;
  readonly body: {
    readonly data: { readonly text: string; readonly last_modified: number };
    readonly details: { readonly existing: { readonly text: string } };
  };
}

let heard: unknown[] = [];
const hear = ({ old, new: after }: Change): void => void heard.push([old, after].map((each) => textIn(each)));

function textIn(entry: Change['old'] | Change['new']): unknown {
  return entry !== undefined && 'attributes' in entry ? short(entry.attributes['text']) : undefined;
}

const listening: readonly Subscriber[] = [
  { name: 'before', on: 'RequestChanged', kinds: ['record'], handle: (changes) => changes.forEach(hear) },
  { name: 'after', on: 'AfterResourceChanged', kinds: ['record'], handle: ({ changes }) => changes.forEach(hear) },
];

const cases = {
  'that nothing reads': { plugins: [], settings: { includes: 'history' } },
  'that subscribers read': {
    plugins: [definePlugin({ name: 'listener', setup: () => ({ subscribers: listening }) })],
    settings: { includes: 'history' },
  },
};

forEachBackend((backend) => {
  describe.each(Object.entries(cases))(`replaced texts %s on ${backend.name}`, (name, { plugins, settings }) => {
    let service: TestService;
    let alice: TestClient;

    beforeAll(async () => {
      service = await backend.start({ plugins, settings });
      alice = service.asUser('alice');
      for (const path of ['/v1/buckets/b', '/v1/buckets/b/collections/c']) await alice.request('PUT', path);
    });
    afterAll(() => service.close());
    beforeEach(async () => {
      await alice.request('DELETE', `/v1${list}`);
      await batch(put('a', 'a'), put('b', 'b'));
      heard = [];
    });

    async function batch(...requests: readonly JsonObject[]): Promise<readonly Answered[]> {
      const { status, body } = await alice.request('POST', '/v1/batch', { body: { requests } });
      expect(status).toBe(200);
      return (body as { readonly responses: readonly Answered[] }).responses;
    }
    const statuses = (responses: readonly Answered[]): unknown => responses.map(({ status }) => status);
    const read = async (id: string): Promise<Answered['body']['data']> => {
      const { body } = await alice.request('GET', `/v1${list}/${id}`);
      return (body as Answered['body']).data;
    };
    const stored = async (id: string): Promise<unknown> => short((await read(id)).text);

    it('Objects are replaced once and twice in a batch.', async () => {
      expect(statuses(await batch(put('a', 'c'), put('b', 'd'), put('a', 'e')))).toEqual([200, 200, 200]);
      expect([await stored('a'), await stored('b')]).toEqual(['e300000', 'd300000']);
      const changes = [
        ['a300000', 'c300000'],
        ['b300000', 'd300000'],
        ['c300000', 'e300000'],
      ];
      expect(heard).toEqual(name === 'that subscribers read' ? [...changes, ...changes] : []);
    });

    it('What a request needs of the text is there.', async () => {
      const { last_modified: ofA } = await read('a');
      const responses = await batch(
        put('b', 'x', { headers: { 'If-Match': `"${ofA}"` } }),
        { method: 'PUT', path: `${list}/a`, body: { permissions: { read: ['system.Everyone'] } } },
        { method: 'PATCH', path: `${list}/a`, body: { data: { more: 1 } } },
        put('a', 'y', { headers: { 'If-None-Match': '*' } }),
        { method: 'DELETE', path: `${list}/b` },
      );
      expect(statuses(responses)).toEqual([412, 200, 200, 412, 200]);
      expect(short(responses[0]!.body.details.existing.text)).toBe('b300000');
      expect(short(responses[1]!.body.data.text)).toBe('a300000');
      expect(short(responses[3]!.body.details.existing.text)).toBe('a300000');
      expect(await stored('a')).toBe('a300000');
    });

    it('A refused entry leaves the others as they are.', async () => {
      const refused = { method: 'PUT', path: `${list}/b`, body: { data: 'none' } };
      expect(statuses(await batch(put('a', 'c'), refused, put('b', 'd')))).toEqual([200, 400, 200]);
      expect([await stored('a'), await stored('b')]).toEqual(['c300000', 'd300000']);
    });
  });
});
