// Gauges of database connection pools, read at collection time.
import { Gauge, type Registry } from 'prom-client';
import type { Database } from '../../contracts/database.ts';
import { helpOf } from '../../observability/metrics/sink.ts';

/** Adds gauges for databases with a connection pool or a writer queue. */
export function addPoolGauges(registry: Registry, prefix: string, databases: Iterable<Database>): void {
  const pools = [...new Set(databases)].flatMap(({ name, poolState }) =>
    poolState === undefined ? [] : [{ database: name, poolState }],
  );
  if (pools.length === 0) return;
  const common = (name: string): { name: string; help: string; registers: Registry[] } => ({
    name: prefix + name,
    help: helpOf(name),
    registers: [],
  });
  const gauges = [
    new Gauge({
      ...common('backend_pool_connections'),
      labelNames: ['database', 'state'],
      collect() {
        for (const { database, poolState } of pools) {
          const { open, idle } = poolState();
          this.set({ database, state: 'idle' }, idle);
          this.set({ database, state: 'busy' }, open - idle);
        }
      },
    }),
    new Gauge({
      ...common('backend_pool_limit'),
      labelNames: ['database'],
      collect() {
        for (const { database, poolState } of pools) this.set({ database }, poolState().limit);
      },
    }),
    new Gauge({
      ...common('backend_pool_waiting'),
      labelNames: ['database'],
      collect() {
        for (const { database, poolState } of pools) this.set({ database }, poolState().waiting);
      },
    }),
  ];
  for (const gauge of gauges) registry.registerMetric(gauge);
}
