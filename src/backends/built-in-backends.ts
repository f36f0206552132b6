// The list of backends. A new one is a folder and a row here: settings, commands and documentation follow from it.
import type { BuiltInBackend } from '../contracts/backend-module.ts';
import { memcached } from './memcached/index.ts';
import { memory } from './memory/index.ts';
import { postgresql } from './postgresql/index.ts';
import { redis } from './redis/index.ts';
import { sqlite } from './sqlite/index.ts';

/** Every backend of this version, in the order in which they are offered. */
export const builtInBackends: readonly BuiltInBackend[] = [memory, sqlite, postgresql, redis, memcached];
