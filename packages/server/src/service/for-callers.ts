/** What the library says of wrong use, for who asks over a network: ways out that are functions of the library are none for them. */
export function forCallers(message: string): string {
  return message.replace(' To refuse everything use block().', '');
}
