// A name that is typed in full counts more than those that begin with it: `pool` comes before `pool_options`.
// The search is a worker, and 2 the type of the messages with what was typed.
const post = Worker.prototype.postMessage;
Worker.prototype.postMessage = function (message, ...rest) {
  if (message && message.type === 2) {
    const names = message.data.split(/[^\w]+/).filter((name) => name);
    message = { ...message, data: [message.data, ...names.map((name) => `${name}^30`)].join(" ") };
  }
  return post.call(this, message, ...rest);
};
