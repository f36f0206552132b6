// Reads and writes of all kinds over HTTP, for tests that let something fail meanwhile.
import { expect } from 'vitest';
import type { TestClient } from '../../src/testing/service/service-client.ts';

/** Settings that the work needs. */
export const workSettings = { includes: 'default_bucket history' };

const steps: readonly (readonly [method: string, path: string, status: number, body?: unknown])[] = [
  ['PUT', '', 201],
  ['PUT', '/collections/c', 201],
  ['PUT', '/groups/g', 201, { data: { members: ['basicauth:someone'] } }],
  ['POST', '/collections/c/records', 201, { data: { n: 1 } }],
  ['PUT', '/collections/c/records/r', 201, { data: { n: 2 }, permissions: { read: ['system.Everyone'] } }],
  ['GET', '/collections/c/records/r', 200],
  ['PATCH', '/collections/c/records/r', 200, { data: { n: 3 } }],
  ['GET', '/collections/c/records?_limit=1', 200],
  ['GET', '/collections/c/records?min_n=2&_sort=-n', 200],
  [
    'POST',
    '/batch',
    200,
    {
      defaults: { method: 'PUT' },
      requests: ['a', 'b'].map((id) => ({ path: `BUCKET/collections/c/records/${id}`, body: { data: { n: 4 } } })),
    },
  ],
  ['DELETE', '/collections/c/records/a', 200],
  ['GET', '/collections/c/records?_since=0', 200],
  ['DELETE', '/collections/c/records?_limit=1', 200],
  ['GET', '/history', 200],
  ['DELETE', '/collections/c', 200],
  ['GET', '/__heartbeat__', 200],
  ['DELETE', '', 200],
];

const ofService = ['/batch', '/__heartbeat__'];

/** Status of each answer when nothing fails. */
export function soundWork(heartbeat = 200): readonly number[] {
  return steps.map(([, path, status]) => (path === '/__heartbeat__' ? heartbeat : status));
}

/**
 * Does the work below a bucket of its own; returns the status of each answer, having checked that a failure is a 503 with
 * the standard body and a time to come back.
 */
export async function doWork(client: TestClient, bucket: string): Promise<readonly number[]> {
  const statuses: number[] = [];
  const below = `/buckets/${bucket}`;
  for (const [method, path, , body] of steps) {
    const address = ofService.includes(path) ? `/v1${path}` : `/v1${below}${path}`;
    const raw = body === undefined ? undefined : JSON.stringify(body).replaceAll('BUCKET', below);
    const headers = { 'Content-Type': 'application/json' };
    const response = await client.request(method, address, raw === undefined ? {} : { raw, headers });
    statuses.push(response.status);
    if (response.status < 500) continue;
    expect([method, path, response.status, response.headers['retry-after']]).toEqual([method, path, 503, '3']);
    if (path !== '/__heartbeat__') expect(response.body).toMatchObject({ code: 503, errno: 201 });
  }
  return statuses;
}
