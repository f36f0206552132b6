// A service with one object of each kind, and a client that knows only its Swagger document.
import { startTestService, type TestService } from '../../../src/testing/index.ts';
import { SwaggerClient } from './swagger-client.ts';

export const auth = 'alice';

/** The smallest body that each kind takes. */
export const smallest = {
  bucket: {},
  group: { data: { members: ['basicauth:bob'] } },
  collection: {},
  record: { data: { name: 'Rye bread' } },
} as const;

export const addresses = {
  bucket: '/v1/buckets/b1',
  group: '/v1/buckets/b1/groups/g1',
  collection: '/v1/buckets/b1/collections/c1',
  record: '/v1/buckets/b1/collections/c1/records/r1',
} as const;

export type KindName = keyof typeof addresses;

/** Path parameters of the object, by the names in the document. */
export const pathOf: Readonly<Record<KindName, Readonly<Record<string, string>>>> = {
  bucket: { id: 'b1' },
  group: { bucket_id: 'b1', id: 'g1' },
  collection: { bucket_id: 'b1', id: 'c1' },
  record: { bucket_id: 'b1', collection_id: 'c1', id: 'r1' },
};

/** `Buckets` */
export function tagOf(kind: KindName): string {
  return `${kind.charAt(0).toUpperCase()}${kind.slice(1)}s`;
}

export interface DescribedService {
  readonly service: TestService;
  readonly client: SwaggerClient;
}

export async function startDescribedService(): Promise<DescribedService> {
  // As the reference server responds to clients that do not accept JSON.
  const settings = { includes: 'history admin', not_acceptable_status: '406' };
  const service = await startTestService({ settings });
  return { service, client: await SwaggerClient.of(service) };
}

/** Creates what is missing. */
export async function createObjects(service: TestService): Promise<void> {
  for (const kind of ['bucket', 'group', 'collection', 'record'] as const) {
    await service.request('PUT', addresses[kind], { auth, body: smallest[kind] });
  }
}
