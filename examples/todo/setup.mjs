// Prepares a service for the application: the bucket, in which every user may create lists and groups. Run it once:
//   node setup.mjs https://coffer.example/v1 NAME PASSWORD
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { basic, Coffer } from '@coffer/client';

/**
 * Creates the bucket. Its owner is this user, who then may read and change all lists.
 *
 * @param {string} server root of the API
 * @param {{ name: string, password: string }} owner
 */
export async function prepare(server, { name, password }) {
  const users = ['system.Authenticated'];
  const permissions = { 'collection:create': users, 'group:create': users };
  await new Coffer(server, { auth: basic(name, password) }).buckets.put('todo', {}, { permissions });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [server, name, password] = process.argv.slice(2);
  if (server === undefined || name === undefined || password === undefined) {
    throw new Error('Usage: node setup.mjs SERVER NAME PASSWORD');
  }
  await prepare(server, { name, password });
}
