// The header `Query-Plan`: how declared indexes were used for a query.
import type { ListIndex, QueryReport } from '../query/ast.ts';
import { nameOf } from './definition.ts';

export class QueryPlanReport implements QueryReport {
  #text: string | undefined;
  #keys = 0;

  begun(): void {
    this.#text = undefined;
    this.#keys = 0;
  }

  read(keys: number): void {
    this.#keys += keys;
  }

  found(indexes: readonly ListIndex[], { candidates, residual, isOrdered }: Parameters<QueryReport['found']>[1]): void {
    const names = [...new Set(indexes.map(nameOf))].map(encodeURIComponent).join(' ');
    this.#text = `index=${names}; objects=${candidates}; residual=${residual}; order=${isOrdered ? 'index' : 'sorted'}`;
  }

  scanned(): void {
    this.#text = undefined;
  }

  format(): string {
    return `${this.#text ?? 'scan'}; keys=${this.#keys}`;
  }
}
