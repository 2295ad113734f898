// A push service and a browser in one for the tests: web-push-testing, whose folder is the argument,
// on a free port of this machine, for as long as standard input is open. Prints the port.

const folder = process.argv[2];
const { PushApiModel } = require(`${folder}/src/PushApiModel.js`);
const Server = require(`${folder}/src/server.js`);

const model = new PushApiModel();
const server = new Server(model, 0);
server.setRequestHandlers();
// Its own way to start would listen to the whole network, on a port that must be known before.
const listener = server._app.listen(0, '127.0.0.1', () => {
	const { port } = listener.address();
	model.notifyUrl = `http://127.0.0.1:${port}/notify/`;
	console.log(port);
});

process.stdin.on('end', () => process.exit(0)).resume();
