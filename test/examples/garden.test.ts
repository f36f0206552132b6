// The sample application of five kinds, as its README starts it: loaded by path in a server process, on every backend.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { authorizationOf } from '../../src/testing/service/service-client.ts';
import { EventClient } from '../live/event-client.ts';
import { borrowDatabase } from '../support/postgresql.ts';
import { backends, ServerProcess, Workspace } from '../support/server-process.ts';
import { inExtent } from '../support/extent.ts';

const garden = fileURLToPath(new URL('../../examples/garden/garden.js', import.meta.url));

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: { readonly data: Record<string, unknown> & Record<string, unknown>[]; readonly permissions?: object };
}

it('has fewer than 60 lines', () => {
  expect(readFileSync(garden, 'utf8').trimEnd().split('\n').length).toBeLessThan(60);
});

describe.each(inExtent(['sqlite'], backends))('the garden on %s', (backend) => {
  let workspace: Workspace;
  let server: ServerProcess;
  let giveBack: (() => Promise<void>) | undefined;

  beforeAll(async () => {
    workspace = await Workspace.create();
    const database = backend === 'postgresql' ? await borrowDatabase() : undefined;
    giveBack = database?.giveBack;
    server = await ServerProcess.start(workspace, {
      ...workspace.environment(backend, database?.url),
      SVC_INCLUDES: garden,
      SVC_MULTIAUTH_AUTHORIZATION_POLICY: 'garden',
    });
  });
  afterAll(async () => {
    await server.stop();
    await giveBack?.();
    await workspace.remove();
  });

  const ask = async (user: string, method: string, path: string, body?: object): Promise<Answer> => {
    const response = await fetch(server.url + path, {
      method,
      headers: {
        ...(user === 'nobody' ? {} : { Authorization: authorizationOf(user) }),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
  };

  it('keeps one list of tasks per user, with permissions', async () => {
    const created = await ask('alice', 'POST', '/tasks', {
      data: { text: 'weed' },
      permissions: { read: ['someone'] },
    });
    expect(created).toMatchObject({ status: 201, body: { permissions: { read: ['someone'] } } });
    const id = String(created.body.data['id']);
    expect((await ask('alice', 'GET', '/tasks')).body.data).toHaveLength(1);
    expect((await ask('bob', 'GET', '/tasks')).body.data).toEqual([]);
    for (const method of ['GET', 'PATCH', 'DELETE']) {
      const body = method === 'PATCH' ? { data: {} } : undefined;
      expect([method, (await ask('bob', method, `/tasks/${id}`, body)).status]).toEqual([method, 404]);
      expect([method, (await ask('nobody', method, `/tasks/${id}`, body)).status]).toEqual([method, 401]);
    }
    expect((await ask('alice', 'DELETE', `/tasks/${id}`)).status).toBe(200);
    expect((await ask('alice', 'GET', '/tasks?_since=0')).body.data).toMatchObject([{ id, deleted: true }]);
  });

  it('shares the notices, whose rules never change', async () => {
    expect((await ask('alice', 'PUT', '/notices/rules', { data: { text: 'be kind' } })).status).toBe(201);
    const created = await ask('alice', 'POST', '/notices', { data: { text: 'seeds' } });
    const path = `/notices/${String(created.body.data['id'])}`;
    expect((await ask('nobody', 'GET', path)).body.data).toMatchObject({ text: 'seeds' });
    expect((await ask('nobody', 'GET', '/notices')).body.data).toHaveLength(2);
    expect((await ask('nobody', 'POST', '/notices')).status).toBe(401);
    expect((await ask('bob', 'PATCH', path, { data: { text: 'x' } })).status).toBe(403);
    expect((await ask('alice', 'PATCH', path, { data: { text: 'bulbs' } })).status).toBe(200);
    expect((await ask('alice', 'PATCH', '/notices/rules', { data: { text: 'x' } })).status).toBe(403);
    expect((await ask('alice', 'DELETE', '/notices')).body.data).toMatchObject([{ id: created.body.data['id'] }]);
    expect((await ask('bob', 'GET', '/notices/rules')).body.data).toMatchObject({ text: 'be kind' });
  });

  it('drops what plants do not have, and refuses those without a name', async () => {
    const created = await ask('alice', 'POST', '/plants', { data: { name: 'rose', colour: 'red' } });
    expect(created.body.data).not.toHaveProperty('colour');
    expect((await ask('bob', 'POST', '/plants', { data: { colour: 'red' } })).status).toBe(400);
    expect((await ask('bob', 'POST', '/plants')).status).toBe(400);
    expect((await ask('bob', 'GET', '/plants')).body.data).toMatchObject([{ name: 'rose' }]);
  });

  it('completes and converts what beds have', async () => {
    expect((await ask('alice', 'POST', '/beds')).body.data).toMatchObject({ soil: 'loam', area: 1 });
    const given = await ask('alice', 'POST', '/beds', { data: { soil: 'sand', area: '2.5', own: true } });
    expect(given.body.data).toMatchObject({ soil: 'sand', area: 2.5, own: true });
    expect((await ask('alice', 'POST', '/beds', { data: { soil: 'mud' } })).status).toBe(400);
    expect((await ask('nobody', 'GET', '/beds')).status).toBe(401);
  });

  it('keeps notes as they are, for one user each', async () => {
    const data = { any: { thing: [1, null] } };
    const created = await ask('alice', 'POST', '/notes', { data });
    expect(created.body).toEqual({ data: { ...data, id: expect.any(String), last_modified: expect.any(Number) } });
    expect((await ask('bob', 'GET', '/notes')).body.data).toEqual([]);
  });

  it('sends each user the changes of its own tasks, and of the common lists', async () => {
    const { origin } = new URL(server.url);
    const open = (path: string, auth: string): Promise<EventClient> => EventClient.open(origin, path, { auth });
    const [ann, bob, common] = await Promise.all([
      open('/v1/tasks?_live=sse', 'ann'),
      open('/v1/tasks?_live=sse', 'bob'),
      open('/v1/live?watch=/beds', 'ann'),
    ]);
    try {
      for (const client of [ann, bob, common]) await client.until('current');
      for (const user of ['ann', 'bob']) await ask(user, 'POST', '/tasks', { data: { text: `of ${user}` } });
      expect((await ann.until('changes')).data.data).toMatchObject([{ text: 'of ann' }]);
      expect((await bob.until('changes')).data.data).toMatchObject([{ text: 'of bob' }]);
      await ask('bob', 'POST', '/beds');
      expect((await common.until('changes')).data).toMatchObject({ list: '/beds', data: [{ soil: 'loam', area: 1 }] });
    } finally {
      for (const client of [ann, bob, common]) client.close();
    }
  });

  it('serves its page, and nothing outside of the folder', async () => {
    const page = await ask('nobody', 'GET', '/garden/');
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toContain('text/html');
    expect(page.headers.get('cache-control')).toContain('max-age=60');
    expect(page.headers.get('content-security-policy')).toBe("default-src 'self'");
    expect((await ask('nobody', 'GET', '/garden/garden.css')).headers.get('content-type')).toContain('text/css');
    for (const path of ['/garden/missing', '/garden/..%2Fgarden.js', '/garden/%2e%2e/package.json']) {
      expect([path, (await ask('nobody', 'GET', path)).status]).toEqual([path, expect.toBeOneOf([400, 404])]);
    }
  });
});
