// A plugin that fills the memory backend before the server listens: no other program can access its memory.
import process from 'node:process';
import { definePlugin } from '../../dist/index.js';
import { fill } from './data.mjs';

export default definePlugin({
  name: 'bench-fill',
  async setup(host) {
    await fill(host.stores, JSON.parse(process.env['BENCH_PLAN'] ?? '{}'));
    return {};
  },
});
