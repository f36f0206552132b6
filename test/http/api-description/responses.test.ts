// What each method of each kind returns is what the Swagger document declares for that status.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { addresses, auth, createObjects, smallest, startDescribedService, tagOf } from './described-service.ts';
import type { DescribedService, KindName } from './described-service.ts';
import { requireValidResponse } from './swagger-client.ts';

describe.each(Object.keys(addresses) as KindName[])('responses about a %s', (kind) => {
  const address = addresses[kind];
  const list = address.slice(0, address.lastIndexOf('/'));
  let described: DescribedService;

  beforeAll(async () => {
    described = await startDescribedService();
  });
  beforeEach(() => createObjects(described.service));
  afterAll(() => described.service.close());

  it.each([
    ['get_', '', 'GET', address, undefined, 200],
    ['create_', '', 'POST', list, { data: { id: address.slice(list.length + 1) } }, 200],
    ['create_', '', 'POST', list, smallest[kind], 201],
    ['update_', '', 'PUT', address, smallest[kind], 200],
    ['update_', '', 'PUT', `${list}/another`, smallest[kind], 201],
    ['delete_', '', 'DELETE', address, undefined, 200],
    ['get_', 's', 'GET', list, undefined, 200],
    ['delete_', 's', 'DELETE', list, undefined, 200],
  ] as const)('are as declared: %s%s by %s %s', async (verb, suffix, method, path, body, status) => {
    const { service, client } = described;
    const operation = client.operation(tagOf(kind), `${verb}${kind}${suffix}`);
    await service.request('DELETE', `${list}/another`, { auth });
    const response = await service.request(method, path, body === undefined ? { auth } : { auth, body });
    expect(response.status).toBe(status);
    requireValidResponse(operation, response);
  });
});
