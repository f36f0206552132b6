// The log of slow operations: from which time on there is a line, and what stands in it.
import { expect, test, vi } from 'vitest';
import { storedParent } from '../../src/core/objects/uris.ts';
import { slowOperations } from '../../src/observability/observers.ts';
import { silentLogger, type Logger } from '../../src/contracts/logger.ts';
import type { OperationObservation } from '../../src/contracts/observer.ts';
import { startTestService } from '../../src/testing/index.ts';

function recorder(): { readonly logger: Logger; readonly lines: (readonly [object | string, string | undefined])[] } {
  const lines: (readonly [object | string, string | undefined])[] = [];
  const warn = (fields: object | string, message?: string): void => void lines.push([fields, message]);
  return { logger: { ...silentLogger, warn }, lines };
}

const operation: OperationObservation = {
  kind: 'operation',
  backend: 'storage',
  engine: 'sqlite',
  method: 'list_all',
  list: { kind: 'record', parent: storedParent('/buckets/b/collections/c') },
  startedAt: 0,
  milliseconds: 99.9,
  error: undefined,
};

test('logs a call of at least the threshold with its list, and no quicker one.', () => {
  const { logger, lines } = recorder();
  const observer = slowOperations(logger, 100);
  observer.observe(operation);
  observer.observe({ ...operation, milliseconds: 100.4 });
  observer.observe({ kind: 'lookup', isHit: true });
  expect(lines).toEqual([
    [
      {
        backend: 'storage',
        engine: 'sqlite',
        operation: 'list_all',
        kind: 'record',
        parent: '/buckets/b/collections/c',
        t: 100,
      },
      'Slow operation',
    ],
  ]);
});

test('is enabled by the setting, and logs no values.', async () => {
  const { logger, lines } = recorder();
  const service = await startTestService({ logger, settings: { slow_operation_ms: '5' } });
  let time = performance.now();
  vi.spyOn(performance, 'now').mockImplementation(() => (time += 5));
  await service.asUser('alice').request('PUT', '/v1/buckets/b', { body: { data: { note: 'hunter2' } } });
  await service.close();
  const line = {
    backend: 'storage',
    engine: 'memory',
    operation: 'create',
    kind: 'bucket',
    parent: '',
    t: expect.any(Number),
  };
  expect(lines).toContainEqual([line, 'Slow operation']);
  expect(JSON.stringify(lines)).not.toContain('hunter2');
});
