// The questions in the order of a run. Each is a file of this name in the parent folder.

/** @type {readonly string[]} */
export const questions = [
  'get-one',
  'poll',
  'post-one',
  'list-100',
  'by-hand',
  'in-process',
  'batch-25',
  'batch-writes',
  'growth',
  'filter-sort',
  'filter-small',
  'indexed',
  'text-search',
  'authorisation',
  'delete-large',
  'burning',
  'live',
  'clients',
  'console',
  'load',
  'start-and-memory',
  'workers',
  'mixed',
];
