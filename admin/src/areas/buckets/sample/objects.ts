// The objects of the sample data: a small lending library with a schema, indexes, a group and permissions. Ids are fixed, so
// the removal knows what was loaded.
import { below, kinds, listPathOf, pathOf } from '../../../core/places.ts';
import { library } from './books.ts';

const group = 'librarians';
export const samplePlace = below([], kinds.bucket, 'sample');
export const groupPath = `${listPathOf(samplePlace, kinds.group)}/${group}`;

export interface SampleObject {
  /** Path below the API. */
  readonly path: string;
  readonly data: object;
  readonly permissions?: object;
}

export interface SampleCollection {
  readonly path: string;
  readonly object: SampleObject;
  readonly records: readonly SampleObject[];
}

const forms = ['novel', 'novella', 'story', 'play', 'poetry', 'essay'];

const bookSchema = {
  type: 'object',
  required: ['title', 'author', 'year'],
  properties: {
    title: { type: 'string', title: 'Title', minLength: 1 },
    author: { type: 'string', title: 'Author', description: 'Id of a record of the collection authors' },
    year: { type: 'integer', title: 'Year', description: 'Of the first publication or performance' },
    language: { type: 'string', title: 'Original language' },
    form: { title: 'Form', enum: forms },
    copies: { type: 'integer', title: 'Copies', minimum: 0, default: 1 },
    isOnLoan: { type: 'boolean', title: 'On loan' },
    place: {
      type: 'object',
      title: 'Place',
      properties: { room: { enum: ['A', 'B', 'C'] }, number: { type: 'integer' } },
    },
  },
};

const taskSchema = {
  type: 'object',
  required: ['title', 'status'],
  properties: {
    title: { type: 'string', title: 'Title', minLength: 1 },
    status: { title: 'Status', enum: ['open', 'doing', 'done'] },
    due: { type: 'string', format: 'date', title: 'Due' },
    books: { type: 'array', title: 'Books', items: { type: 'string' } },
  },
};

const tasks: readonly (readonly [title: string, status: string, due: string, books?: readonly string[]])[] = [
  ['Order a second copy of Middlemarch', 'open', '2027-02-01', ['middlemarch']],
  ['Repair the spine of Don Quixote', 'doing', '2027-01-15', ['don-quixote']],
  ['Move the plays to room B', 'open', '2027-03-10'],
  ['Prepare the shelf of detective stories', 'open', '2027-02-20', ['a-study-in-scarlet', 'the-sign-of-the-four']],
  ['Remind readers of overdue books', 'open', '2027-01-08'],
  ['Count the copies in room C', 'done', '2026-12-20'],
  ['Invite a storyteller for fairy tales', 'doing', '2027-04-02', ['the-snow-queen', 'the-ugly-duckling']],
  ['Replace the lamp in the reading room', 'open', '2027-01-30'],
  ['Choose the book of the month', 'done', '2026-12-31', ['frankenstein']],
  ['Write labels for the Russian novels', 'open', '2027-02-14', ['war-and-peace', 'the-idiot']],
];

/** Returns a title as an id: small letters and digits. */
function idOf(title: string): string {
  return title
    .normalize('NFD')
    .replaceAll(/[\u0300-\u036F']/g, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
}

/** Returns the records of a collection, whose path is given. */
type RecordsBelow = (path: string) => readonly SampleObject[];

function recordOf(collectionPath: string, id: string, data: object): SampleObject {
  return { path: `${collectionPath}/${kinds.record.plural}/${id}`, data };
}

function collectionOf(id: string, data: object, records: RecordsBelow): SampleCollection {
  const path = pathOf(below(samplePlace, kinds.collection, id));
  const permissions = { write: [`/${groupPath}`] };
  return { path, object: { path, data, permissions }, records: records(path) };
}

function authorsAndBooks(): { readonly authors: RecordsBelow; readonly books: RecordsBelow } {
  const authors: [id: string, data: object][] = [];
  const books: [id: string, data: object][] = [];
  let author = '';
  let language = '';
  for (const line of library.trim().split('\n')) {
    const [first = '', second = '', third = '', fourth = '', fifth = ''] = line.trim().split('|');
    if (!line.startsWith(' ')) {
      author = first;
      language = fifth;
      authors.push([first, { name: second, born: Number(third), died: Number(fourth), language }]);
      continue;
    }
    const number = books.length;
    const place = { room: 'ABC'.charAt(number % 3), number: 1 + (number % 12) };
    const stock = { copies: 1 + (number % 4), isOnLoan: number % 5 === 0, place };
    books.push([idOf(first), { title: first, author, year: Number(second), language, form: third, ...stock }]);
  }
  return {
    authors: (path) => authors.map(([id, data]) => recordOf(path, id, data)),
    books: (path) => books.map(([id, data]) => recordOf(path, id, data)),
  };
}

/** Returns the collections with their records. Only indexes that the service offers are declared. */
export function sampleCollections(capabilities: ReadonlySet<string>): readonly SampleCollection[] {
  const { authors, books } = authorsAndBooks();
  const indexes = (fields: readonly string[], text: string): object => {
    const declared = [
      ...(capabilities.has('indexes') ? [{ fields }] : []),
      ...(capabilities.has('text-search') ? [{ text: [text] }] : []),
    ];
    return declared.length === 0 ? {} : { indexes: declared };
  };
  const displayFields = ['title', 'author', 'year', 'form', 'language'];
  return [
    collectionOf(
      'authors',
      { displayFields: ['name', 'born', 'died', 'language'], ...indexes(['born'], 'name') },
      authors,
    ),
    collectionOf('books', { displayFields, schema: bookSchema, ...indexes(['language', '-year'], 'title') }, books),
    collectionOf('tasks', { displayFields: ['title', 'status', 'due'], schema: taskSchema }, (path) =>
      tasks.map(([title, status, due, named]) =>
        recordOf(path, idOf(title), { title, status, due, ...(named === undefined ? {} : { books: named }) }),
      ),
    ),
  ];
}

/** Returns changes of loaded records, so that they have a history. */
export function sampleChanges(): readonly SampleObject[] {
  const record = (collection: string, id: string): string =>
    pathOf(below(below(samplePlace, kinds.collection, collection), kinds.record, id));
  return [
    { path: record('tasks', 'order-a-second-copy-of-middlemarch'), data: { status: 'doing' } },
    { path: record('books', 'middlemarch'), data: { copies: 2 } },
    { path: record('tasks', 'order-a-second-copy-of-middlemarch'), data: { status: 'done' } },
    { path: record('books', 'frankenstein'), data: { isOnLoan: true, copies: 4 } },
    { path: record('books', 'frankenstein'), data: { isOnLoan: false } },
    { path: record('tasks', 'remind-readers-of-overdue-books'), data: { due: '2027-01-10', status: 'doing' } },
  ];
}
