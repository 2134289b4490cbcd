// Package users mirrors the accounts for services that are not in Python.
package users

import (
	"encoding/json"
	"net/http"
)

// Data is what the account service tells about a user.
type Data struct {
	Name  string `json:"name"`
	Email string `json:"email"`
}

// FetchUserData asks the account service.
func FetchUserData(client *http.Client, base, name string) (Data, error) {
	var data Data
	answer, err := client.Get(base + "/users/" + name)
	if err != nil {
		return data, err
	}
	defer answer.Body.Close()
	return data, json.NewDecoder(answer.Body).Decode(&data)
}
